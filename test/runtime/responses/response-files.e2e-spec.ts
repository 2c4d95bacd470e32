import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ResponseInputContent } from 'openai/resources/responses/responses';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { useApprovalsApp } from '../approvals/approvals.support.js';
import { png, uploaded } from '../files/files.support.js';
import { expectPublishedShapes } from './checked-fetch.js';
import { openAiClient } from './responses.support.js';

const own = useApprovalsApp(newTenant);
expectPublishedShapes();

let agentId: string;
let other: Tenant;
beforeAll(async () => {
  agentId = await own.createAgent('none', { tier: 'thinking' });
  other = await newTenant();
});
afterAll(() => other?.close());

const dataUrl = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString('base64')}`;
const CSV = { type: 'text/csv', disposition: 'attachment; filename=t.csv' };

/** Asks with these parts, and returns what the model got of the question. */
async function ask(...content: ResponseInputContent[]): Promise<{ id: string; got: unknown }> {
  own.model.script({ kind: 'text', deltas: ['I see.'] });
  const input = [{ role: 'user' as const, content }];
  const response = await openAiClient(own.app).responses.create({ model: agentId, input });
  expect(response).toMatchObject({ status: 'completed', output_text: 'I see.' });
  const messages = own.model.requests.at(-1)?.body.messages ?? [];
  return { id: response.id, got: messages.findLast(({ role }) => role === 'user')?.content };
}

const image = (url: string) => ({ type: 'input_image', image_url: url, detail: 'auto' }) as const;

describe('an image of the input', () => {
  it('reaches the model, and the input items name the file that it has become', async () => {
    const url = dataUrl('image/png', png(randomBytes(8)));
    const { id, got } = await ask(image(url), { type: 'input_text', text: 'What is this?' });
    expect(got).toEqual([
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: 'What is this?' },
    ]);
    const { data } = await openAiClient(own.app).responses.inputItems.list(id);
    expect(data).toMatchObject([
      { role: 'user', content: [{ type: 'input_image', image_url: expect.stringContaining('/files/') }, {}] },
    ]);
  });

  it('can be a file that was uploaded, by any of its addresses', async () => {
    const bytes = png(randomBytes(8));
    const file = await uploaded(own.app, bytes);
    for (const address of [file.url, new URL(file.url, own.app.url).href]) {
      const { got } = await ask(image(address));
      expect(got).toEqual([{ type: 'image_url', image_url: { url: dataUrl('image/png', bytes) } }]);
    }
  });
});

describe('a file of the input', () => {
  it('reaches the model as text, from its data or as a file that was uploaded', async () => {
    const bytes = Buffer.from('a;b\n1;2');
    const file = await uploaded(own.app, bytes, CSV);
    for (const part of [
      { type: 'input_file', filename: 't.csv', file_data: dataUrl('text/csv', bytes) },
      { type: 'input_file', file_url: file.url },
    ] as const) {
      const { id, got } = await ask(part);
      expect(JSON.stringify(got)).toContain('t.csv:\\na;b\\n1;2');
      const { data } = await openAiClient(own.app).responses.inputItems.list(id);
      const item = { type: 'input_file', filename: 't.csv', file_url: expect.stringContaining('/files/') };
      expect(data).toMatchObject([{ role: 'user', content: [item] }]);
    }
  });

  it('reaches the model as a document if the model takes its type', async () => {
    const pdf = dataUrl('application/pdf', Buffer.from('%PDF-1.4\n%%EOF'));
    const { got } = await ask({ type: 'input_file', filename: 'a.pdf', file_data: pdf });
    expect(got).toMatchObject([{ type: 'file', file: { file_data: pdf } }]);
  });
});

describe('a file that is not taken', () => {
  const cases: [string, () => Promise<ResponseInputContent> | ResponseInputContent, number, string, string][] = [
    ['an address elsewhere', () => image('https://example.org/a.png'), 400, 'file_url_unsupported', 'image_url'],
    ['an address of no file', () => image('/api/none'), 400, 'file_url_unsupported', 'image_url'],
    ['malformed data', () => image('data:image/png;base64,%'), 400, 'file_url_unsupported', 'image_url'],
    [
      'data without their type',
      () => ({ type: 'input_file', filename: 'a.txt', file_data: 'aGVsbG8=' }),
      400,
      'file_url_unsupported',
      'file_data',
    ],
    [
      'a type that the model does not take',
      () => ({ type: 'input_file', file_data: dataUrl('application/octet-stream', Buffer.from('\0anything')) }),
      400,
      'file_unsupported',
      'file_data',
    ],
    [
      'a file of another organization',
      async () => {
        const file = await uploaded(other, png(randomBytes(8)));
        return { type: 'input_file', file_url: file.url.replace(`/${other.org}/`, `/${own.app.org}/`) };
      },
      404,
      'file_not_found',
      'file_url',
    ],
  ];

  it.each(cases)(
    'because of %s is refused where it is, and no thread is kept',
    async (_, part, status, code, member) => {
      const countThreads = () => own.app.query(`SELECT count(*) FROM threads WHERE virtual_mcp_id = $1`, [agentId]);
      const before = await countThreads();
      const calls = own.model.requests.length;
      const content = [{ type: 'input_text', text: 'What is this?' } as const, await part()];
      const asked = openAiClient(own.app).responses.create({
        model: agentId,
        instructions: 'Be brief.',
        input: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content },
        ],
      });
      await expect(asked).rejects.toMatchObject({ status, code, param: `input[1].content[1].${member}` });
      expect(await countThreads()).toEqual(before);
      expect(own.model.requests).toHaveLength(calls);
    },
  );
});
