/**
 * The floors of each package that has folders: its folders, and the files beside `index.ts`, from the ground up. A file
 * imports from its own folder and from what stands before it. So folders form no circle, and whoever reads a row knows
 * where to begin.
 */
export const folderOrder: Readonly<Record<string, string>> = {
  'apps/cli': `terminal.ts options.ts print-records.ts settings.ts processes.ts webhook-key.ts waiting-line.ts at-hand oauth flow contexts operate/schemas
    operate/records records operate/isolation operate people issued audit import/files import/keycloak/realm import/keycloak/people import/keycloak/clients
    import/keycloak import/from import/outcome import client-config
    commands complete-values.ts run.ts main.ts`,
  'apps/controller': `config.ts objects.ts work-queue.ts cluster administration reconcile controller.ts main.ts`,
  'apps/standalone': `administer.ts banner.ts development-secret.ts welcome-link.ts config.ts demo-client compose.ts main.ts`,
  'libs/admin': `config.ts complete-impact.ts shown-lock.ts telling-what-ended.ts local-administration.ts offered-to-command.ts rules audit
    sessions consents access serve-administration.ts forward.ts wiring.ts index.ts`,
  'libs/audit': `what-to-change.ts audit-row.ts event-base.ts refusal-details.ts audit-insert.ts audit-floods.ts audit-purge.ts audit-batch.ts
    search index.ts`,
  'libs/authorize': `config.ts browser-call.ts store request audit.ts visits codes sessions limits methods/password
    methods/passkey methods/totp methods/mail-code methods/upstream consent interaction logout messages.ts account
    service.ts wiring.ts index.ts`,
  'libs/console': `config.ts console-sessions.ts console-sign-in.ts providers console-visit.ts navigation.ts admission shown-refusals.ts cells.ts
    shown-person.ts named-person.ts confirmed.ts forms pages/trail pages/access pages/keys pages pages/people pages/applications pages/apis pages/organization
    setup-page-table.ts console-page-table.ts console-pages.ts index.ts`,
  'libs/device': `config.ts pending-grant.ts digest.ts limits.ts store audit.ts polling start approval webhook delivery
    backchannel device-authorization approval-calls.ts service.ts wiring.ts index.ts`,
  'libs/directory': `config.ts fields ground/hashing ground/passwords ground kind-of-records.ts secrets deleted roles tenants factors users/claims users
    users/lists providers resources applications assertions record-kinds.ts endings messages.ts feed plans store records declared
    apply/guards apply calls/forms calls service.ts epoch.ts wiring.ts
    offered-to-people.ts index.ts`,
  'libs/directory-client': `change-watch.ts single-flight.ts record-cache.ts tenant-issuers.ts
    directory-client-types.ts ended-count.ts access.ts directory-cache.ts client-authentication client.ts index.ts`,
  'libs/gateway': `issuer dialects http config.ts pages/looks gateway.ts pages pages/sign-in/steps pages/sign-in
    pages/approve pages/links pages/account/sections pages/account pages/logout endpoints page-table.ts routes.ts server wiring.ts index.ts`,
  'libs/introspection-client': `access-token-source.ts introspector-types.ts introspection-error.ts answer-cache.ts server local
    revocations introspector.ts resource-metadata.ts guard.ts adapters index.ts`,
  'libs/kit': `text addresses.ts bounded-cache.ts call-time.ts clock.ts ids.ts repeat.ts noted-later.ts secret.ts silence-timer.ts
    follow-stream.ts url-options.ts within.ts without-schemas.ts index.ts`,
  'libs/keys': `signer.ts store.ts rings config.ts key-calls.ts store.postgres.ts service.ts wiring.ts index.ts`,
  'libs/oauth': `errors.ts user-id.ts signing-algorithms.ts grant-types.ts key-copies.ts public-jwk.ts token request admin-scopes.ts
    metadata.ts index.ts`,
  'libs/pages': `longest-head.ts parse-form.ts query.ts sent-body.ts page-addresses.ts anti-forgery.ts form-fields.ts page-headers.ts style-sheet.ts
    templates.ts page.ts table-of-pages.ts list.ts plot.ts index.ts`,
  'libs/people': `smtp-url.ts config.ts mail one-time change password recovery totp passkey mail-code identity links registration account
    account/administered bootstrap methods.ts service.ts wiring.ts index.ts`,
  'libs/process': `config lifecycle.ts runtime.ts clock thread-pool.ts failpoints.ts management schemas.ts
    create-runtime.ts run-process.ts run-service.ts index.ts`,
  'libs/rpc': `call.ts call-options.ts actor.ts typed-client.ts call-traces.ts served-call.ts token-proof.ts errors page-token.ts stretches.ts
    stored-message.ts client/channel credentials.ts access client hosts hosts/in-process hosts/grpc hosts/connect caller.ts index.ts`,
  'libs/stores': `database.ts tls-errors.ts purge.ts feed redis limits store-errors.ts migrations traced-stores.ts
    retry.ts statement-time.ts when-available.ts postgres store-urls.ts index.ts`,
  'libs/telemetry': `log metrics traces index.ts`,
  'libs/test-kit': `cleanup.ts each-file.ts eventually.ts wait-for.ts fakes certificates network provision provision/postgres provision/redis
    browser stores.ts provide-stores.ts provision.ts index.ts`,
  'libs/token': `audit.ts requested-issuer.ts refresh-token-format.ts store usable.ts authenticate-client.ts verification
    counts introspection revocation pipeline grants impact logout user-info.ts config.ts service.ts wiring.ts index.ts`,
  'tools/bench': `autocannon.d.ts oidc-provider.d.ts declared-state.ts target.ts populate.ts processor-time.ts stores.ts bare
    peer operations options.ts systems.ts driver measure records growth.ts overload.ts rest.ts table.ts targets.ts
    beside.ts main.ts`,
  'tools/chaos': `history system load scenarios table.ts main.ts`,
  'tools/cluster': `declared-state.ts kubernetes.ts stores.ts secrets.ts probe.ts load-script.ts ingress-script.ts client-script.ts
    entrance-script.ts load.ts logs.ts release.ts walk scenario.ts objects scenarios/releases scenarios run.ts`,
  'tools/e2e': `harness harness/browser harness/kubernetes suites/authorization suites/clients suites/decisions suites/directory suites/sign-in
    suites/tenant-issuers suites/tokens suite single/browsers single/hostile single/introspection single/isolation
    single/isolation/flows single/plans pictures.ts`,
};
