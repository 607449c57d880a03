{{- define "tessera.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "tessera.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "tessera.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* What finds the pods of a component: {root, component}. */ -}}
{{- define "tessera.selector" -}}
app.kubernetes.io/name: {{ include "tessera.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /* Of everything: {root, component}. Optional `labels` are those of one object; no label of the chart itself can be changed. */ -}}
{{- define "tessera.labels" -}}
{{- $fixed := include "tessera.selector" . | fromYaml -}}
{{- $_ := set $fixed "app.kubernetes.io/version" .root.Chart.AppVersion -}}
{{- $_ := set $fixed "app.kubernetes.io/part-of" "tessera" -}}
{{- $_ := set $fixed "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $fixed "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") -}}
{{- merge $fixed (.labels | default dict) .root.Values.commonLabels | toYaml -}}
{{- end -}}

{{- /* Name, labels and annotations of an object that is no pod: {root, component, name}. Optional `labels` and `annotations` are those of one object. */ -}}
{{- define "tessera.metadata" -}}
name: {{ .name }}
labels: {{- include "tessera.labels" . | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The values of a component, above those of `defaults`; `null` removes a default: {root, component}. */ -}}
{{- define "tessera.component" -}}
{{- $own := get .root.Values .component | default dict -}}
{{- $merged := mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy $own) -}}
{{- include "tessera.withoutNulls" (dict "from" $merged "own" $own) -}}
{{- toYaml $merged -}}
{{- end -}}

{{- define "tessera.withoutNulls" -}}
{{- range $key, $value := .own -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $.from $key -}}
{{- else if kindIs "map" $value -}}
{{- include "tessera.withoutNulls" (dict "from" (get $.from $key) "own" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
  How many replicas a Deployment gets, and by whom: {root, component, own}. `replicas` is what Helm writes, if anything. Once an
  autoscaler has written the number, Helm may not: a release that holds a number cannot be rolled back to without a conflict.
  Until then Helm keeps it, as the API server takes 1 where a number is left out that was there. Helm 3 never gives it up.
  With autoscaling off again, an autoscaler with one possible number (`fixed`) brings the declared one. Who wrote the number is
  named after the program that it is part of; people use kubectl.
*/ -}}
{{- define "tessera.scale" -}}
{{- $own := .own -}}
{{- $scale := dict "fixed" false -}}
{{- $live := lookup "apps/v1" "Deployment" .root.Release.Namespace (printf "%s-%s" (include "tessera.fullname" .root) .component) -}}
{{- $isApplied := false -}}
{{- $owners := list -}}
{{- range (dig "metadata" "managedFields" list $live) -}}
{{- $isOfApply := eq .operation "Apply" -}}
{{- if $isOfApply }}{{ $isApplied = true }}{{ end -}}
{{- if hasKey (dig "f:spec" dict (.fieldsV1 | default dict)) "f:replicas" }}{{ $owners = append $owners (ternary "" .manager $isOfApply) }}{{ end -}}
{{- end -}}
{{- $others := compact $owners -}}
{{- $autoscaler := "" -}}
{{- range $others }}{{ if not (hasPrefix "kubectl" .) }}{{ $autoscaler = . }}{{ end }}{{ end -}}
{{- if $own.autoscaling.enabled -}}
{{- if and $live (not $isApplied) -}}
{{- $_ := set $scale "replicas" (max $live.spec.replicas $own.autoscaling.minReplicas) -}}
{{- else if and $owners (not $others) -}}
{{- $_ := set $scale "replicas" $live.spec.replicas -}}
{{- end -}}
{{- else if and $isApplied $autoscaler (gt (int $own.replicas) 0) (ne (int $live.spec.replicas) (int $own.replicas)) -}}
{{- $_ := set $scale "fixed" true -}}
{{- else -}}
{{- $_ := set $scale "replicas" $own.replicas -}}
{{- end -}}
{{- toYaml $scale -}}
{{- end -}}

{{- define "tessera.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "tessera.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "tessera.fullname" .) -}}
{{- end -}}

{{- /*
  Every issuer that the public may reach, as a list of {host, path, keycloak}: the shared one, those that tenants declare, and `extraHosts`;
  `keycloak`: by the paths of Keycloak, too, which of an issuer that is not declared only its path tells.
  The ConfigMap of the declared state is read as far as Helm may ask.
*/ -}}
{{- define "tessera.issuers" -}}
{{- $state := .Values.state -}}
{{- $tenants := $state.tenants -}}
{{- if and $state.existingConfigMap $state.checksum -}}
{{- $data := (lookup "v1" "ConfigMap" .Release.Namespace $state.existingConfigMap).data | default dict -}}
{{- $tenants = (get $data $state.key | fromYaml).tenants -}}
{{- end -}}
{{- $named := list (dict "url" .Values.issuer "keycloak" false) -}}
{{- range $tenants }}{{ if .issuer }}{{ $named = append $named (dict "url" .issuer "keycloak" (eq (toString .endpoints) "keycloak")) }}{{ end }}{{ end -}}
{{- range .Values.extraHosts }}{{ $named = append $named (dict "url" (printf "https://%s" .) "keycloak" (contains "/realms/" .)) }}{{ end -}}
{{- $found := dict -}}
{{- $order := list -}}
{{- range $named -}}
{{- $url := urlParse .url -}}
{{- $host := $url.host | splitList ":" | first | lower -}}
{{- $key := printf "%s %s" $host $url.path -}}
{{- $before := get $found $key | default (dict "keycloak" false) -}}
{{- if not (hasKey $found $key) }}{{ $order = append $order $key }}{{ end -}}
{{- $_ := set $found $key (dict "host" $host "path" $url.path "keycloak" (or .keycloak $before.keycloak)) -}}
{{- end -}}
{{- $issuers := list -}}
{{- range $order }}{{ $issuers = append $issuers (get $found .) }}{{ end -}}
{{- toYaml $issuers -}}
{{- end -}}

{{- /* The public paths of an issuer as {exact, prefix}: {root, issuer}. Metadata of an issuer with a path is also above it (RFC 8414 §3.1). */ -}}
{{- define "tessera.publicPaths" -}}
{{- $path := .issuer.path -}}
{{- $exact := list -}}
{{- $prefix := list -}}
{{- range .root.Values.publicPaths.exact -}}
{{- $exact = append $exact (print $path .) -}}
{{- if and $path (has . (list "/.well-known/openid-configuration" "/.well-known/oauth-authorization-server")) }}{{ $exact = append $exact (print . $path) }}{{ end -}}
{{- end -}}
{{- if and .issuer.keycloak $path }}{{ $exact = append $exact $path }}{{ end -}}
{{- if .issuer.keycloak }}{{ range .root.Values.publicPaths.keycloak }}{{ $exact = append $exact (print $path .) }}{{ end }}{{ end -}}
{{- range .root.Values.publicPaths.prefix }}{{ $prefix = append $prefix (print $path .) }}{{ end -}}
{{- toYaml (dict "exact" $exact "prefix" $prefix) -}}
{{- end -}}

{{- /* What each component works with, as its main.ts puts it together. Peers are those it calls. */ -}}
{{- define "tessera.catalog" -}}
{{- if eq .Values.topology "compact" }}
standalone: { http: true, rpc: false, database: true, redis: true, secrets: [keysKek, directoryPepper, tokenRefreshKeys, deviceHmacKey, webhookKey, smtpUrl], webhooks: true, mail: true, logoutTokens: true, providers: true, issuers: true, peers: [], introspection: true, administration: true }
{{- else }}
gateway: { http: true, rpc: false, database: false, redis: true, secrets: [], peers: [keys, directory, authorize, token, device] }
authorize: { http: false, rpc: true, database: true, redis: true, secrets: [], providers: true, peers: [directory] }
token: { http: false, rpc: true, database: true, redis: true, secrets: [tokenRefreshKeys], logoutTokens: true, peers: [keys, directory, authorize, device], introspection: true }
device: { http: false, rpc: true, database: true, redis: true, secrets: [deviceHmacKey, webhookKey], webhooks: true, peers: [directory] }
keys: { http: false, rpc: true, database: true, redis: false, secrets: [keysKek], peers: [] }
directory: { http: false, rpc: true, database: true, redis: false, secrets: [directoryPepper, smtpUrl], mail: true, issuers: true, peers: [] }
{{- if .Values.administration.enabled }}
admin: { http: false, rpc: false, database: false, redis: false, secrets: [], peers: [keys, directory, authorize, device, token], administration: true }
{{- end }}
{{- end }}
{{- end -}}

{{- /* The component that takes HTTP from outside. */ -}}
{{- define "tessera.front" -}}
{{- if eq .Values.topology "compact" }}standalone{{ else }}gateway{{ end -}}
{{- end -}}

{{- /* The component that answers introspection. */ -}}
{{- define "tessera.introspector" -}}
{{- if eq .Values.topology "compact" }}standalone{{ else }}token{{ end -}}
{{- end -}}

{{- define "tessera.hasState" -}}
{{- if or .Values.state.tenants .Values.state.existingConfigMap }}true{{ end -}}
{{- end -}}

{{- /* Whether administration is served with TLS: without certificates, calls of one process need none. */ -}}
{{- define "tessera.administrationTls" -}}
{{- if and .Values.administration.enabled (eq .Values.rpc.auth "mtls") (or (eq .Values.topology "split") .Values.introspection.enabled) }}true{{ end -}}
{{- end -}}

{{- define "tessera.databaseUrlSecret" -}}
{{- if .Values.throwAwayStores.enabled -}}
{{ include "tessera.fullname" . }}-throw-away
{{- else -}}
{{ .Values.database.existingSecret }}
{{- end -}}
{{- end -}}

{{- define "tessera.databaseUrlKey" -}}
{{- if .Values.throwAwayStores.enabled }}database-url{{ else }}{{ .Values.database.key }}{{ end -}}
{{- end -}}

{{- define "tessera.redisUrlSecret" -}}
{{- if .Values.throwAwayStores.enabled -}}
{{ include "tessera.fullname" . }}-throw-away
{{- else -}}
{{ .Values.redis.existingSecret }}
{{- end -}}
{{- end -}}

{{- define "tessera.redisUrlKey" -}}
{{- if .Values.throwAwayStores.enabled }}redis-url{{ else }}{{ .Values.redis.key }}{{ end -}}
{{- end -}}

{{- /* The Secret with the certificate of a process: {root, process}. */ -}}
{{- define "tessera.certificateSecret" -}}
{{- $given := get .root.Values.rpc.mtls.existingSecrets .process -}}
{{- $given | default (printf "%s-%s-rpc" (include "tessera.fullname" .root) .process) -}}
{{- end -}}

{{- /* The name that others find a component's calls by. It ends with a dot: no search domain is tried. */ -}}
{{- define "tessera.peer" -}}
{{ include "tessera.fullname" .root }}-{{ .component }}.{{ .root.Release.Namespace }}.svc.{{ .root.Values.clusterDomain }}.:9000
{{- end -}}

{{- /* Where components are, for TESSERA_PEERS: {root, components}. */ -}}
{{- define "tessera.peers" -}}
{{- $root := .root -}}
{{- $peers := list -}}
{{- range .components }}{{ $peers = append $peers (printf "%s=%s" . (include "tessera.peer" (dict "root" $root "component" .))) }}{{ end -}}
{{- join " " $peers -}}
{{- end -}}

{{- /* Of a pod: {root, own}. OpenShift assigns the user and groups itself and refuses fixed ones. */ -}}
{{- define "tessera.podSecurity" -}}
{{- $context := deepCopy .own.podSecurityContext -}}
{{- if .root.Capabilities.APIVersions.Has "security.openshift.io/v1" }}{{ $context = omit $context "runAsUser" "runAsGroup" "fsGroup" }}{{ end -}}
{{- toYaml $context -}}
{{- end -}}

{{- /* Where a pod may run: the values of a component or of the Jobs. */ -}}
{{- define "tessera.scheduling" -}}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* How a pod finds others: the values of a component or of the Jobs. */ -}}
{{- define "tessera.network" -}}
{{- with .hostAliases }}
hostAliases: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The values of the Jobs and of the test pod: where `jobs` has none, those of `defaults` count. */ -}}
{{- define "tessera.jobSettings" -}}
{{- $own := deepCopy .Values.jobs -}}
{{- range list "priorityClassName" "hostAliases" "dnsPolicy" "dnsConfig" "nodeSelector" "tolerations" "affinity" "podSecurityContext" "securityContext" "envFrom" "initContainers" "extraVolumes" "extraVolumeMounts" -}}
{{- $_ := set $own . (get $own . | default (get $.Values.defaults .)) -}}
{{- end -}}
{{- toYaml $own -}}
{{- end -}}

{{- /* Labels and annotations of the pods of Jobs and tests: {own, labels, annotations}. Without a sidecar Istio wants a label, Linkerd an annotation. */ -}}
{{- define "tessera.jobMetadata" -}}
{{- $labels := dict -}}
{{- $annotations := .annotations | default dict -}}
{{- if not .own.sidecars -}}
{{- $labels = dict "sidecar.istio.io/inject" "false" -}}
{{- $annotations = mergeOverwrite (dict "linkerd.io/inject" "disabled") $annotations -}}
{{- end -}}
labels: {{- mergeOverwrite $labels .own.podLabels (.labels | fromYaml) | toYaml | nindent 2 }}
{{- with mergeOverwrite (deepCopy .own.podAnnotations) $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Of a Service. */ -}}
{{- define "tessera.ipFamilies" -}}
{{- with .Values.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.ipFamilies }}
ipFamilies: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* How a process proves itself: {root, process}. Environment. */ -}}
{{- define "tessera.rpcEnvironment" -}}
- { name: TESSERA_RPC_AUTH, value: {{ .root.Values.rpc.auth }} }
{{- if eq .root.Values.rpc.auth "mtls" }}
- { name: TESSERA_RPC_TLS_DIR, value: /run/tessera/rpc }
{{- with .root.Values.rpc.mtls.trustDomain }}
- { name: TESSERA_RPC_TRUST_DOMAIN, value: {{ . }} }
{{- end }}
{{- else }}
- { name: TESSERA_RPC_TOKEN_FILE, value: /run/tessera/secrets/rpc-token }
{{- end }}
{{- end -}}

{{- /* The further certificate authority. Environment. */ -}}
{{- define "tessera.caEnvironment" -}}
{{- if .Values.trustedCa.existingSecret }}
- { name: NODE_EXTRA_CA_CERTS, value: /run/tessera/ca/ca.crt }
{{- end }}
{{- end -}}

{{- define "tessera.caVolume" -}}
{{- if .Values.trustedCa.existingSecret }}
- name: ca
  secret:
    secretName: {{ .Values.trustedCa.existingSecret }}
    defaultMode: 0440
    items: [{ key: {{ .Values.trustedCa.key | quote }}, path: ca.crt }]
{{- end }}
{{- end -}}

{{- define "tessera.caMount" -}}
{{- if .Values.trustedCa.existingSecret }}
- { name: ca, mountPath: /run/tessera/ca, readOnly: true }
{{- end }}
{{- end -}}

{{- /* A token of the service account for our issuer, by which a pod proves to be an application. */ -}}
{{- define "tessera.identityVolume" -}}
- name: identity
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: { path: token, audience: {{ .Values.issuer | quote }}, expirationSeconds: 3600 }
{{- end -}}

{{- define "tessera.identityMount" -}}
- { name: identity, mountPath: /run/tessera/identity, readOnly: true }
{{- end -}}

{{- /* A key of a Secret as a file: {secret, key, path}. Source of a projected volume. */ -}}
{{- define "tessera.secretFile" -}}
- secret: { name: {{ .secret | quote }}, items: [{ key: {{ .key | quote }}, path: {{ .path }} }] }
{{- end -}}

{{- /* Settings as environment, later ones first; refused twice: by the schema, and by the server. */ -}}
{{- define "tessera.settings" -}}
{{- range $name, $value := . }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- end -}}
