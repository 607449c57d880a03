import { AuditService } from '@tessera/proto-gen/admin-audit';
import type { ConsolePageRow } from '../../console-visit.ts';
import { auditPage } from './trail-page.ts';
import { whyPage } from './why-page.ts';

const row = { formTarget: 'own', who: { sees: [AuditService.method.search] } } as const;

/** The rows of the table of pages for what happened. */
export const trailRows: readonly ConsolePageRow[] = [
  { ...row, path: '/o/:tenant/audit', title: 'Audit trail', page: auditPage },
  { ...row, path: '/o/:tenant/why', title: 'Why was this refused?', page: whyPage },
  { ...row, path: '/why', title: 'Why was this refused?', page: whyPage },
];
