import { describe, expect, it } from 'vitest';
import { isLocal } from '../hosts/in-process/local.ts';
import { emptyFields, fakeClient } from './fake-client.ts';
import { EntrySchema, ReadResponseSchema } from './trial/trial_pb.ts';
import { TrialService, TrialStreamService } from './trial/trial-services.ts';

describe('a fake client', () => {
  it('answers what a test gives an answer for, as the service in this process does', async () => {
    const client = fakeClient(TrialService, { read: () => ({}) }, { as: 'token' });
    expect((await client.read({})).$typeName).toBe(ReadResponseSchema.typeName);
    expect(isLocal(client)).toBe(true);
  });

  it('fails with the name of the method where no answer is given, and tells of the call all the same', async () => {
    const asked: string[] = [];
    const options = { as: 'token', received: (method: string) => void asked.push(method) } as const;
    const calls = fakeClient(TrialService, { read: () => ({}) }, options);
    await expect(calls.write({})).rejects.toThrow(`no answer is given for ${TrialService.typeName}/Write`);
    const streams = fakeClient(TrialStreamService, {}, options);
    const first = streams.watch({})[Symbol.asyncIterator]().next();
    await expect(first).rejects.toThrow(`no answer is given for ${TrialStreamService.typeName}/Watch`);
    await calls.read({});
    expect(asked).toEqual(['write', 'watch', 'read']);
  });

  it('refuses callers that are not declared, as the service does', async () => {
    const client = fakeClient(TrialService, { change: () => ({}) }, { as: 'gateway' });
    await expect(client.change({})).rejects.toThrow();
  });
});

it('leaves empty what nothing sets, and messages absent', () => {
  expect(emptyFields(ReadResponseSchema)).toEqual({ entries: [] });
  expect(emptyFields(EntrySchema)).toEqual({ id: '' });
});
