import type { FastifyReply } from 'fastify';
import { expect, it } from 'vitest';
import { methodsOfPages, navigationBeside, type PageFile } from './table-of-pages.ts';

const answered = (text: string) => ({ text }) as unknown as FastifyReply;
const page: PageFile<string> = {
  load: async (context) => answered(`shows ${context}`),
  act: async (context) => answered(`does ${context}`),
};
const row = { title: 'Colors', formTarget: 'own' } as const;

it('gives a page its methods, and one without a form no POST', () => {
  const methods = methodsOfPages(
    [
      { ...row, path: '/colors', who: 'anyone', page },
      { ...row, path: '/about', who: 'anyone', page: { load: page.load } },
    ],
    async () => undefined,
  );
  expect(methods.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /colors',
    'POST /colors',
    'GET /about',
  ]);
});

it('asks before each method who may see the page, and calls nothing of it for others', async () => {
  const asked: string[] = [];
  const [load, act] = methodsOfPages(
    [{ ...row, path: '/colors', who: 'operator', page }],
    async (context, who) => {
      asked.push(`${context} as ${who}`);
      return context === 'ada' ? undefined : () => answered('refused');
    },
  );
  expect(await load?.handle('ada')).toEqual({ text: 'shows ada' });
  expect(await act?.handle('ada')).toEqual({ text: 'does ada' });
  expect(await load?.handle('eve')).toEqual({ text: 'refused' });
  expect(await act?.handle('eve')).toEqual({ text: 'refused' });
  expect(asked).toEqual(['ada as operator', 'ada as operator', 'eve as operator', 'eve as operator']);
});

it('lists the pages of an area beside each other, in the order of the table', () => {
  const at = (path: string, area?: string) => ({
    ...row,
    path,
    who: 'anyone',
    ...(area !== undefined && { navigation: { area, label: `To ${path}` } }),
  });
  const rows = [at('/red', 'colors'), at('/about'), at('/x', 'other'), at('/blue', 'colors')];
  expect(navigationBeside(rows, at('/blue', 'colors'))).toEqual([
    { path: '/red', label: 'To /red', isHere: false },
    { path: '/blue', label: 'To /blue', isHere: true },
  ]);
  expect(navigationBeside(rows, at('/about'))).toEqual([]);
});

it('calls nothing of a page for others, though their answer is a promise of nothing once it was sent', async () => {
  const sent = Promise.resolve() as unknown as FastifyReply;
  const called: string[] = [];
  const load = async (context: string) => {
    called.push(context);
    return sent;
  };
  const [method] = methodsOfPages(
    [{ ...row, path: '/colors', who: 'operator', page: { load } }],
    async (context) => (context === 'ada' ? undefined : () => sent),
  );
  for (const context of ['eve', 'ada']) await method?.handle(context);
  expect(called).toEqual(['ada']);
});
