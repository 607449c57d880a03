import { create, notUnderstood, whereOffered, type CallOptions, type Client } from '@tessera/rpc';
import {
  BeginRequestSchema,
  BeginResponseSchema,
  ContinueRequestSchema,
  ContinueResponseSchema,
  InteractionSchema,
  StepSchema,
  type AuthorizeService,
  type BeginRequest,
  type BeginResponse,
  type ContinueRequest,
  type ContinueResponse,
  type Interaction,
  type Step,
} from '@tessera/proto-gen/authorize';

type Authorize = Client<typeof AuthorizeService>;

/**
 * Compatibility until 0.3: a client of an `authorize` that may be of version 0.1, which knows the step `password`
 * alone.
 */
export function acceptEarlierAuthorize(authorize: Authorize): Authorize {
  return {
    ...authorize,
    begin: (request, options) =>
      whereOffered(authorize.begin(request, options), () =>
        begin(authorize, create(BeginRequestSchema, request), options),
      ),
    async getInteraction(request, options) {
      const shown = await authorize.getInteraction(request, options);
      const { step, interaction } = shown;
      if (step !== undefined || interaction === undefined) return shown;
      return { ...shown, step: passwordStep(interaction) };
    },
    continue: (request, options) =>
      whereOffered(authorize.continue(request, options), () =>
        continueVisit(authorize, create(ContinueRequestSchema, request), options),
      ),
  };
}

async function begin(
  authorize: Authorize,
  { browser, visit }: BeginRequest,
  options: CallOptions | undefined,
): Promise<BeginResponse> {
  if (visit.case !== 'request') {
    const value = passwordStep(create(InteractionSchema, { tenantId: visit.value?.tenantId ?? '' }));
    return create(BeginResponseSchema, { next: { next: { case: 'step', value } } });
  }
  const { parameters, hintedUserId, idTokenHintIsInvalid } = visit.value;
  const asked = { browser, parameters, hintedUserId, idTokenHintIsInvalid };
  const { next } = await authorize.beginAuthorization(asked, options);
  if (next.case !== 'interaction') return create(BeginResponseSchema, { next: { next } });
  return create(BeginResponseSchema, { next: { next: { case: 'step', value: passwordStep(next.value) } } });
}

async function continueVisit(
  authorize: Authorize,
  { browser, visit, fields }: ContinueRequest,
  options: CallOptions | undefined,
): Promise<ContinueResponse> {
  const { identifier = '', password = '' } = fields;
  const isComplete = identifier !== '' && password !== '';
  if (visit.case === 'interactionId') {
    const stored = { browser, interactionId: visit.value };
    if (isComplete) return outcomeOf(await authorize.signIn({ ...stored, identifier, password }, options));
    const { interaction, redirect } = await authorize.getInteraction(stored, options);
    if (redirect !== undefined) return continued({ case: 'redirect', value: redirect });
    return continued({ case: 'step', value: passwordStep(interaction, 'incomplete') });
  }
  const tenantId = visit.value?.tenantId ?? '';
  const interaction = create(InteractionSchema, { tenantId });
  if (!isComplete) return continued({ case: 'step', value: passwordStep(interaction, 'incomplete') });
  const direct = await authorize.signInDirect({ browser, tenantId, identifier, password }, options);
  const { session, tenantMismatch } = direct;
  if (session !== undefined) return continued({ case: 'done', value: {} }, session);
  if (tenantMismatch) return continued({ case: 'tenantMismatch', value: { interaction } });
  return continued({ case: 'step', value: passwordStep(interaction, 'wrong_credentials') });
}

function outcomeOf({ outcome }: Awaited<ReturnType<Authorize['signIn']>>): ContinueResponse {
  switch (outcome.case) {
    case 'signedIn': {
      const { session, redirect } = outcome.value;
      if (redirect === undefined) throw notUnderstood('where a sign-in leads');
      return continued({ case: 'redirect', value: redirect }, session);
    }
    case 'wrongCredentials': {
      const value = passwordStep(outcome.value.interaction, 'wrong_credentials');
      return continued({ case: 'step', value });
    }
    default:
      return continued(outcome);
  }
}

type NextInit = NonNullable<Parameters<typeof create<typeof ContinueResponseSchema>>[1]>['next'];

function continued(
  next: NonNullable<NonNullable<NextInit>['next']>,
  session?: ContinueResponse['session'],
): ContinueResponse {
  return create(ContinueResponseSchema, { next: { next }, session });
}

function passwordStep(interaction: Interaction | undefined, problem = ''): Step {
  const shown = { identifier: interaction?.loginHint ?? '' };
  return create(StepSchema, { name: 'password', interaction, problem, shown });
}
