import type { FastifyReply } from 'fastify';
import type { Field } from '@tessera/pages';
import { Code, ConnectError } from '@tessera/rpc';
import { problemsOf, type InputProblem, type Problems } from '../shown-refusals.ts';
import { fieldsOf, here, sentForm, type ConsolePage, type Visit } from '../console-visit.ts';

interface Option {
  readonly value: string;
  /** A sentence of the languages, or a name. */
  readonly label: string;
  readonly hint?: string;
  readonly isOn: boolean;
}

/**
 * What a person fills in or chooses. Its name is that of the field of the API, so that what the API says of the field
 * stands beside it.
 */
export interface Input {
  readonly name: string;
  /** A sentence of the languages, as the hint. */
  readonly label: string;
  readonly labelValues?: Readonly<Record<string, string>>;
  readonly hint?: string;
  readonly hintValues?: Readonly<Record<string, string>>;
  /** `lines` has one value a line; of the options of `one` one is chosen, of `several` any number. */
  readonly kind: 'text' | 'url' | 'secret' | 'lines' | 'one' | 'several';
  readonly value?: string;
  readonly options?: readonly Option[];
  /** Which keyboard a phone shows; of such a text the spelling is left alone. */
  readonly keyboard?: 'text' | 'email' | 'tel';
  readonly isRequired?: boolean;
  readonly longest?: number;
  /** Of the text, as a BCP 47 tag. */
  readonly language?: string;
}

/** The fields of a form, as they are used. */
export interface Sent {
  /** Without spaces around it. */
  text(name: string): string;
  lines(name: string): string[];
  /** The chosen options of a choice of several; or its lines, as which many options are shown. */
  chosen(name: string): string[];
  readonly form: ReadonlyMap<string, string>;
}

function sentOf(form: ReadonlyMap<string, string>): Sent {
  const text = (name: string) => (form.get(name) ?? '').trim();
  const lines = (name: string) =>
    text(name)
      .split(/\s*\n\s*/)
      .filter((line) => line !== '');
  return {
    text,
    lines,
    chosen: (name) =>
      form.has(name)
        ? lines(name)
        : [...form.keys()]
            .filter((key) => key.startsWith(`${name} `))
            .map((key) => key.slice(name.length + 1)),
    form,
  };
}

/** Options of a choice that are shown as boxes; more are lines. A form has 64 fields at most. */
export const mostChoices = 40;

interface FormPage<T> {
  /** What the form is about, as it is now. */
  readonly read: (visit: Visit) => Promise<T>;
  /** Its name. */
  readonly subject?: (about: T) => string;
  /** Who else owns it and changes it; then there is no form. */
  readonly ownerOf?: (about: T) => string | undefined;
  readonly title?: (about: T) => string;
  readonly message?: string;
  readonly label: string;
  readonly inputs: (about: T, visit: Visit) => readonly Input[];
  readonly hidden?: (about: T) => readonly Field[];
  /** The path of the page before. */
  readonly back: (visit: Visit) => string;
  /** Shown below the form. */
  readonly template?: string;
  readonly data?: (about: T, visit: Visit, sent: Sent | undefined) => object | Promise<object>;
  /** Does what the form asks. What the API refuses is shown in the form, with what was typed. */
  readonly send: (visit: Visit, sent: Sent, about: T) => Promise<FastifyReply>;
}

/** A page with one form. */
export function formPage<T>(page: FormPage<T>): ConsolePage {
  const show = async (visit: Visit, about: T, sent?: Sent, problems?: Problems): Promise<FastifyReply> => {
    const inputs = page.inputs(about, visit);
    const { template = 'form', title, message, label } = page;
    return visit.send({
      template,
      ...(title && { title: title(about) }),
      ...(message !== undefined && { message }),
      data: {
        subject: page.subject?.(about),
        label,
        owner: page.ownerOf?.(about),
        inputs: inputs.map((input) => ({
          ...(sent === undefined ? input : typed(input, sent)),
          problem: problems && problemAt(problems, input),
        })),
        problem: problems === undefined ? undefined : problemOfForm(problems, inputs),
        path: here(visit),
        back: page.back(visit),
        fields: fieldsOf(visit, page.hidden?.(about)),
        ...(await page.data?.(about, visit, sent)),
      },
    });
  };
  return {
    load: async (visit) => show(visit, await page.read(visit)),
    act: async (visit) => {
      const sent = sentOf(sentForm(visit));
      const about = await page.read(visit);
      try {
        return await page.send(visit, sent, about);
      } catch (error) {
        const problems = problemsOf(error, visit);
        if (isOfEarlierVersion(error)) return show(visit, await page.read(visit), undefined, problems);
        return show(visit, about, sent, problems);
      }
    },
  };
}

/**
 * Whether somebody else has changed the record since the form was shown. What was typed is no answer to what is there
 * now: sent again, it would take their change back.
 */
const isOfEarlierVersion = (error: unknown): boolean =>
  error instanceof ConnectError && error.code === Code.Aborted;

/** An input with what was typed into it. */
function typed(input: Input, sent: Sent): Input {
  if (input.kind === 'secret') return input;
  if (input.kind !== 'several' && input.kind !== 'one')
    return { ...input, value: sent.form.get(input.name) ?? '' };
  const on = input.kind === 'one' ? [sent.text(input.name)] : sent.chosen(input.name);
  return {
    ...input,
    options: input.options?.map((option) => ({ ...option, isOn: on.includes(option.value) })) ?? [],
  };
}

/** What the API says of the field of an input, or of a part of it. */
function problemAt({ byField }: Problems, { name }: Input): InputProblem | undefined {
  const found = [...byField].find(([path]) => path === name || path.startsWith(`${name}.`));
  return found?.[1];
}

/** What stands above the form: everything that no input shows, else that one has a problem. */
function problemOfForm(problems: Problems, inputs: readonly Input[]): string {
  const shown = inputs.filter((input) => problemAt(problems, input) !== undefined).length;
  return shown > 0 && shown >= problems.byField.size
    ? 'Nothing has changed yet. Correct what is marked below.'
    : problems.said;
}
