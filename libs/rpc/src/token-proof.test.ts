import { Secret, systemRandom } from '@tessera/kit';
import { describe, expect, it } from 'vitest';
import { createChallenge, createProver } from './token-proof.ts';

const token = new Secret('the token that both know, and nobody sends');
const other = new Secret('a token that somebody else has made up');

function proven(of = token, port = 9002) {
  const prover = createProver(of, systemRandom);
  const challenge = createChallenge(token, systemRandom);
  const answer = prover.prove(challenge.nonce, port);
  return { prover, challenge, answer, bearer: answer && challenge.bearer(answer, 9002) };
}

describe('a proof that both ends know a token', () => {
  it('lets the caller in, and has nothing of the token', () => {
    const { prover, challenge, answer, bearer } = proven();
    expect(prover.isProven(bearer?.reveal() ?? '')).toBe(true);
    expect(JSON.stringify([challenge.nonce, answer, bearer?.reveal()])).not.toContain(token.reveal());
  });

  it('is not accepted of a process with another token, or at another port, as when it hands the question on', () => {
    expect(proven(other).bearer).toBeUndefined();
    expect(proven(token, 9003).bearer).toBeUndefined();
  });

  it('is not accepted for another question, changed, or with a nonce of another form', () => {
    const { challenge, answer = { nonce: '', proof: '' } } = proven();
    expect(createChallenge(token, systemRandom).bearer(answer, 9002)).toBeUndefined();
    for (const wrong of [
      { proof: '' },
      { proof: `${answer.proof}A` },
      { nonce: challenge.nonce },
      { nonce: '' },
    ])
      expect(challenge.bearer({ ...answer, ...wrong }, 9002)).toBeUndefined();
    const prover = createProver(token, systemRandom);
    for (const nonce of ['', 'undefined', 'a\nb', 'x'.repeat(42), 'x'.repeat(44), `${'x'.repeat(42)}.`])
      expect(prover.prove(nonce, 9002)).toBeUndefined();
  });

  it('is worth nothing to another process, even with the same token, nor as what the process itself sends', () => {
    const { bearer, answer, challenge } = proven();
    expect(createProver(token, systemRandom).isProven(bearer?.reveal() ?? '')).toBe(false);
    const { prover } = proven();
    const sent = [
      answer?.proof,
      answer?.nonce,
      `${challenge.nonce}.${answer?.proof}`,
      `.${answer?.proof}`,
      '',
    ];
    for (const value of sent) expect(prover.isProven(value ?? '')).toBe(false);
  });

  it('must be whole', () => {
    const { prover, bearer } = proven();
    const text = bearer?.reveal() ?? '';
    for (const wrong of [
      text.slice(0, -1),
      `${text}.`,
      `${text}.x`,
      text.replace('.', ''),
      text.split('.')[1] ?? '',
    ])
      expect(prover.isProven(wrong)).toBe(false);
  });
});
