/** SQL: the second factors of the user `u`. */
export const secondFactorsOfUser = `
  ARRAY(SELECT 'totp' FROM directory.totp f WHERE f.tenant_id = u.tenant_id AND f.user_id = u.user_id UNION ALL
        (SELECT 'passkey' FROM directory.passkey p WHERE p.tenant_id = u.tenant_id AND p.user_id = u.user_id LIMIT 1)) AS second_factors`;
