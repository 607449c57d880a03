import { declaring } from '../declaring.ts';
import { TrialService as Calls } from './trial_pb.ts';
import { TrialStreamService as Streams } from './trial_stream_pb.ts';

/** Unary calls, and who may make them. */
export const TrialService = declaring(Calls, {
  read: { callers: ['gateway', 'authorize', 'device', 'token', 'operator', 'admin'] },
  write: { callers: ['token'] },
  change: { callers: ['operator', 'admin'] },
});

/** A server stream, and who may open it. */
export const TrialStreamService = declaring(Streams, {
  watch: { callers: ['gateway', 'authorize', 'device', 'token', 'operator'] },
});
