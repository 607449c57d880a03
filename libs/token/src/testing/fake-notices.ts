import { LogoutNoticeResult, type AuthorizeService } from '@tessera/proto-gen/authorize';
import type { Handlers } from '@tessera/rpc';
import { eventually } from '@tessera/test-kit';

interface NewNotice {
  readonly tenantId?: string;
  readonly clientId: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly issuer: string;
}

interface FakeNotice extends Required<NewNotice> {
  readonly noticeId: string;
  claim: number;
  uncounted: number;
  free: boolean;
  outcome: { readonly result: LogoutNoticeResult; readonly reason: string } | undefined;
}

/** Logout notices as `authorize` keeps them. One that is retried or given back is due at once. */
export class FakeNotices {
  readonly #notices = new Map<string, FakeNotice>();

  /** Adds a notice and returns its id. */
  notify(notice: NewNotice): string {
    const noticeId = `notice-${this.#notices.size + 1}`;
    const state = { claim: 0, uncounted: 0, free: true, outcome: undefined };
    this.#notices.set(noticeId, { tenantId: 'acme', ...notice, noticeId, ...state });
    return noticeId;
  }

  /** Resolves with how a notice ended. */
  async outcome(noticeId: string): Promise<FakeNotice['outcome']> {
    await eventually('the notice ended', () => this.#notices.get(noticeId)?.outcome !== undefined);
    return this.#notices.get(noticeId)?.outcome;
  }

  /** How many claims were given back. */
  givenBack(noticeId: string): number {
    return this.#notices.get(noticeId)?.uncounted ?? 0;
  }

  handlers(): Pick<Handlers<typeof AuthorizeService>, 'takeLogoutNotices' | 'finishLogoutNotice'> {
    return {
      takeLogoutNotices: ({ limit }) => {
        const due = [...this.#notices.values()].filter(({ free }) => free).slice(0, limit);
        for (const notice of due) {
          notice.free = false;
          notice.claim += 1;
        }
        return {
          notices: due.map(({ free: _, outcome: __, uncounted, ...notice }) => ({
            ...notice,
            attempt: notice.claim - uncounted,
            requestId: 'a-request',
            remainingSeconds: 7200,
          })),
        };
      },
      finishLogoutNotice: ({ notice, result, reason }) => {
        const kept = this.#notices.get(notice?.noticeId ?? '');
        if (kept === undefined || kept.claim !== notice?.claim) return {};
        const isOver = result === LogoutNoticeResult.DELIVERED || result === LogoutNoticeResult.FAILED;
        if (isOver) kept.outcome = { result, reason };
        kept.free = !isOver;
        if (result === LogoutNoticeResult.GIVE_BACK) kept.uncounted += 1;
        return {};
      },
    };
  }
}
