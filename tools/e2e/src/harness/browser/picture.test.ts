import { expect, it } from 'vitest';
import { savePicture } from './picture.ts';

it('takes a picture again when Chromium changed to another page meanwhile', async () => {
  let tries = 0;
  await savePicture(
    {
      screenshot: async () => {
        tries += 1;
        if (tries === 1)
          throw new Error('Protocol error (Page.captureScreenshot): Unable to capture screenshot');
        return Buffer.of();
      },
    },
    'none',
  );
  expect(tries).toBe(2);
});
