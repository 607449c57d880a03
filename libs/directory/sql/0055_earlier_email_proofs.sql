-- What the audit trail still knows: people whom a provider made, who are bound to it, and those who made or confirmed their addresses by a
-- link themselves. The last change of the address counts, and that an administrator acts in a tenant is written. A migration of its own: 0053 locks people until it commits, and the trail is long.
INSERT INTO directory.email_proof (tenant_id, user_id, identifier, provider, issuer)
SELECT u.tenant_id, u.user_id, lower(u.email), coalesce(i.provider, ''), coalesce(i.issuer, '')
  FROM (SELECT DISTINCT ON (tenant_id, record ->> 'subject') tenant_id, record ->> 'subject' AS user_id, event, record -> 'actor' AS actor
          FROM directory.audit_event
         WHERE event IN ('user.created', 'user.restored')
            OR (event = 'user.updated' AND record -> 'details' ->> 'changed' ~ '\memail(Verified)?\M')
         ORDER BY tenant_id, record ->> 'subject', recorded_at DESC, event_id DESC) AS last
  JOIN directory.user_account u ON u.tenant_id = last.tenant_id AND u.user_id = last.user_id
  LEFT JOIN directory.audit_event made
    ON last.event = 'user.created' AND made.event = 'auth.provider.linked' AND made.tenant_id = u.tenant_id
   AND made.record ->> 'subject' = u.user_id AND made.record -> 'details' ->> 'account' = 'new'
  LEFT JOIN directory.provider_identity i
    ON i.tenant_id = u.tenant_id AND i.user_id = u.user_id AND i.provider = made.record -> 'details' ->> 'provider'
   AND i.created_at < u.created_at + interval '10 seconds'
 WHERE last.actor ->> 'type' = 'user' AND last.actor ->> 'id' = u.user_id AND NOT last.actor ? 'tenantId'
   AND u.email <> '' AND octet_length(u.email) = length(u.email) AND u.standard_claims @> '{"emailVerified": true}'
   AND (made.event_id IS NULL OR i.provider IS NOT NULL)
ON CONFLICT DO NOTHING;
