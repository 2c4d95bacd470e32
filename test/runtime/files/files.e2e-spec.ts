import { createHash, randomBytes } from 'node:crypto';
import { request as openRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { newTenant, type Tenant } from '../../support/tenant.js';
import { age, detailsOf, download, png, SHORT_DAYS, upload, uploaded } from './files.support.js';

const MIB = 1024 * 1024;
const MAX_BYTES = 20 * MIB;

let app: Tenant;
let other: Tenant;
beforeAll(async () => {
  [app, other] = [await newTenant(), await newTenant()];
});
afterAll(async () => {
  await app?.close();
  await other?.close();
});

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer());
const codeOf = async (answer: Response): Promise<unknown> => [
  answer.status,
  ((await answer.json()) as { code: string }).code,
];

/** The contents that the tenant has in the database, whether finished or not. */
async function contents(tenant: Tenant): Promise<number> {
  const [row] = await tenant.query<{ count: string }>(
    'SELECT count(*) FROM file_contents JOIN organizations o ON o.id = organization_id WHERE slug = $1',
    [tenant.org],
  );
  return Number(row?.count);
}

describe('an upload', () => {
  it('is stored as it was sent, under the name of the header', async () => {
    const bytes = png(randomBytes(MIB));
    const disposition = "attachment; filename*=UTF-8''T%C3%BCr%20links.png";
    const item = await uploaded(app, bytes, { disposition });
    expect(item).toEqual({
      id: expect.any(String),
      media_type: 'image/png',
      filename: 'Tür links.png',
      size: bytes.length,
      sha256: sha256(bytes),
      url: `/api/${app.org}/files/${item.id}`,
      created_at: expect.any(String),
      deleted: false,
    });
    const answer = await download(app, item.url);
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(bytes.length),
      'content-disposition': expect.stringContaining('inline'),
      'content-security-policy': expect.stringContaining('sandbox'),
      'x-content-type-options': 'nosniff',
      etag: `"${item.sha256}"`,
    });
    expect(sha256(await bytesOf(answer))).toBe(item.sha256);
    expect(await detailsOf(app, item.id)).toMatchObject(item);
  });

  it('can be a form with one file', async () => {
    const form = new FormData();
    form.append('note', 'a field');
    form.append('file', new Blob([new Uint8Array(png())], { type: 'image/png' }), '../../etc/photo.png');
    const answer = await upload(app, form);
    expect(answer.status).toBe(201);
    expect(await answer.json()).toMatchObject({ item: { filename: 'photo.png', media_type: 'image/png' } });
  });

  it('of a form without a file, or with two, is refused', async () => {
    const none = new FormData();
    none.append('note', 'a field');
    expect(await codeOf(await upload(app, none))).toEqual([400, 'invalid_request']);
    const before = await contents(app);
    const two = new FormData();
    for (const name of ['a.txt', 'b.txt']) two.append('file', new Blob([randomBytes(MIB)]), name);
    expect(await codeOf(await upload(app, two))).toEqual([400, 'invalid_request']);
    await eventually(async () => expect(await contents(app)).toBe(before));
  });

  it('of a form that ends within the file is refused', async () => {
    const before = await contents(app);
    const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
    const cut = Buffer.concat([Buffer.from(head), Buffer.alloc(MIB, 'a')]);
    const answer = await upload(app, cut, { type: 'multipart/form-data; boundary=x' });
    expect(await codeOf(answer)).toEqual([400, 'invalid_request']);
    await eventually(async () => expect(await contents(app)).toBe(before));
  });

  it('gets the type that its bytes show, if none is declared', async () => {
    expect(await uploaded(app, png(), { type: 'application/x-www-form-urlencoded' })).toMatchObject({
      media_type: 'image/png',
    });
    expect(await uploaded(app, Buffer.from('\0anything'), { type: 'application/octet-stream' })).toMatchObject({
      media_type: 'application/octet-stream',
    });
    expect(await uploaded(app, Buffer.from('{"a":1}'), { type: 'application/json; charset=utf-8' })).toMatchObject({
      media_type: 'application/json',
    });
  });

  it.each([
    ['text that claims to be an image', Buffer.from('not a picture'), 'image/png', 'file_type_mismatch'],
    ['an image that claims to be another', png(), 'image/jpeg', 'file_type_mismatch'],
    ['an image that claims to be text', png(), 'text/plain', 'file_type_mismatch'],
    ['a type that is none', png(), 'picture', 'invalid_request'],
    ['no bytes', Buffer.alloc(0), 'text/plain', 'invalid_request'],
  ])('with %s is refused', async (_, body, type, code) => {
    const before = await contents(app);
    expect(await codeOf(await upload(app, body, { type }))).toEqual([400, code]);
    expect(await contents(app)).toBe(before);
  });

  it.each([
    ['attachment; filename="..\\\\..\\\\secrets.png"', 'secrets.png'],
    ["attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", 'passwd'],
    ["attachment; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x.png", 'a Set-Cookie: x.png'],
    ["attachment; filename*=UTF-8''gnp%E2%80%AEexe.png", 'gnp exe.png'],
    ['attachment; filename=".."', null],
    [undefined, null],
  ])('with the header %j has the name %j', async (disposition, filename) => {
    const item = await uploaded(app, png(), disposition === undefined ? {} : { disposition });
    expect(item.filename).toBe(filename);
    const answer = await download(app, item.url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('set-cookie')).toBeNull();
    await answer.body?.cancel();
  });

  it('may have 20 MiB, and not a byte more, whether its length is known or not', async () => {
    const largest = png(randomBytes(MAX_BYTES - png().length - 12));
    expect(largest.length).toBe(MAX_BYTES);
    expect((await uploaded(app, largest)).size).toBe(MAX_BYTES);
    const before = await contents(app);
    const tooLarge = Buffer.concat([largest, Buffer.alloc(1)]);
    expect(await codeOf(await upload(app, tooLarge, { type: 'image/png' }))).toEqual([413, 'body_too_large']);
    const stream = new Blob([new Uint8Array(tooLarge)]).stream();
    expect(await codeOf(await upload(app, stream, { type: 'image/png' }))).toEqual([413, 'body_too_large']);
    await eventually(async () => expect(await contents(app)).toBe(before));
  });

  it('that breaks off leaves nothing', async () => {
    const before = await contents(app);
    const headers = { authorization: `Bearer ${app.apiKey}`, 'content-type': 'application/octet-stream' };
    const request = openRequest(`${app.url}/api/${app.org}/files`, { method: 'POST', headers });
    request.on('error', () => undefined);
    request.write(Buffer.alloc(3 * MIB));
    await eventually(async () => expect(await contents(app)).toBe(before + 1));
    request.destroy();
    await eventually(async () => expect(await contents(app)).toBe(before));
  });

  it('of the same bytes, many times at once, is stored once', async () => {
    const before = await contents(app);
    const bytes = png(randomBytes(MIB));
    const items = await Promise.all(Array.from({ length: 8 }, () => uploaded(app, bytes)));
    expect(new Set(items.map(({ id }) => id)).size).toBe(8);
    await eventually(async () => expect(await contents(app)).toBe(before + 1));
    for (const { url } of items) expect(sha256(await bytesOf(await download(app, url)))).toBe(sha256(bytes));
    for (const { id } of items.slice(1)) await succeed(app, 'FILE_DELETE', { id });
    expect(sha256(await bytesOf(await download(app, items[0]?.url ?? '')))).toBe(sha256(bytes));
    await succeed(app, 'FILE_DELETE', { id: items[0]?.id });
    await eventually(async () => expect(await contents(app)).toBe(before));
  });

  it('needs the permission FILE_CREATE', async () => {
    const permissions = { self: ['FILE_LIST'] };
    const { key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'reader', permissions });
    expect(await codeOf(await upload(app, png(), { type: 'image/png', key }))).toEqual([403, 'permission_denied']);
    expect(await codeOf(await upload(app, png(), { type: 'image/png', key: other.apiKey }))).toEqual([
      403,
      'organization_mismatch',
    ]);
    expect(await codeOf(await upload(app, png(), { type: 'image/png', key: 'no-key' }))).toEqual([
      401,
      'credential_invalid',
    ]);
  });

  it('has room within the limit of the organization, where equal bytes count once', async () => {
    const tenant = await newTenant();
    const bytes = png(randomBytes(MIB));
    await succeed(tenant, 'ORGANIZATION_UPDATE', { limits: { file_bytes: bytes.length } });
    await uploaded(tenant, bytes);
    // The limits of a caller are read again within a second.
    await eventually(async () => {
      const answer = await upload(tenant, png(randomBytes(100)), { type: 'image/png' });
      expect(await codeOf(answer)).toEqual([409, 'limit_reached']);
    });
    const stored = await contents(tenant);
    await uploaded(tenant, bytes);
    expect(await contents(tenant)).toBe(stored);
    expect((await tenant.tool('FILE_LIST', {})).body).toMatchObject({ totalCount: stored + 1, hasMore: false });
    await tenant.close();
  });
});

describe('a download', () => {
  const text = Buffer.from('0123456789'.repeat(60_000));
  let path: string;
  beforeAll(async () => {
    path = (await uploaded(app, text, { type: 'text/html' })).url;
  });

  it('of anything that browsers could execute is an attachment', async () => {
    const answer = await download(app, path);
    expect(answer.headers.get('content-disposition')).toBe('attachment');
    expect(sha256(await bytesOf(answer))).toBe(sha256(text));
    const svg = await uploaded(app, Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), {
      type: 'image/svg+xml',
    });
    expect((await download(app, svg.url)).headers.get('content-disposition')).toBe('attachment');
  });

  it.each([
    ['bytes=0-0', 0, 1],
    ['bytes=262140-262150', 262_140, 262_151],
    ['bytes=599990-', 599_990, 600_000],
    ['bytes=-5', 599_995, 600_000],
    ['bytes=599999-700000', 599_999, 600_000],
  ])('can be the range %s', async (range, start, end) => {
    const answer = await download(app, path, { range });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end - 1}/600000`]);
    expect((await bytesOf(answer)).toString()).toBe(text.subarray(start, end).toString());
  });

  it.each(['bytes=5-1', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-'])('ignores the range %s', async (range) => {
    const answer = await download(app, path, { range });
    expect(answer.status).toBe(200);
    await answer.body?.cancel();
  });

  it('of a range beyond the end is refused', async () => {
    const answer = await download(app, path, { range: 'bytes=600000-' });
    expect(answer.headers.get('content-range')).toBe('bytes */600000');
    expect(await codeOf(answer)).toEqual([416, 'range_not_satisfiable']);
  });

  it('is not repeated for a client that has the bytes', async () => {
    const etag = `"${sha256(text)}"`;
    expect((await download(app, path, { 'if-none-match': `"x", ${etag}` })).status).toBe(304);
    expect((await download(app, path, { range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200);
    expect((await download(app, path, { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
  });

  it('needs a credential of the organization with FILE_GET, or a signature', async () => {
    const { id } = await uploaded(app, png());
    const own = `/api/${app.org}/files/${id}`;
    expect(await codeOf(await fetch(new URL(own, app.url)))).toEqual([401, 'credential_missing']);
    expect(await codeOf(await download({ ...app, apiKey: other.apiKey }, own))).toEqual([403, 'organization_mismatch']);
    expect(await codeOf(await download(other, `/api/${other.org}/files/${id}`))).toEqual([404, 'not_found']);
    expect(await codeOf(await download(app, `/api/${app.org}/files/none`))).toEqual([404, 'not_found']);
    const permissions = { self: ['FILE_CREATE'] };
    const { key } = await succeed<{ key: string }>(app, 'API_KEY_CREATE', { name: 'writer', permissions });
    expect(await codeOf(await download({ ...app, apiKey: key }, own))).toEqual([403, 'permission_denied']);

    const { signed_url: signed } = await detailsOf(app, id);
    const answer = await fetch(new URL(signed ?? '', app.url));
    expect(answer.status).toBe(200);
    expect(sha256(await bytesOf(answer))).toBe(sha256(png()));
    for (const changed of [
      signed?.replace(/expires=\d+/, 'expires=9999999999'),
      signed?.replace(/expires=\d+/, 'expires=1'),
      signed?.slice(0, -2),
      signed?.replace(id, (await uploaded(app, png())).id),
      `${own}/content?expires=&signature=`,
      `${own}/content`,
    ]) {
      expect(await codeOf(await fetch(new URL(changed ?? '', app.url)))).toEqual([403, 'link_expired']);
    }
    const foreign = signed?.replace(app.org, other.org);
    expect(await codeOf(await fetch(new URL(foreign ?? '', app.url)))).toEqual([403, 'link_expired']);
  });
});

it('a file that no message names is deleted with its bytes when it is a day old', async () => {
  const tenant = await newTenant(SHORT_DAYS);
  const { id, url } = await uploaded(tenant, png(randomBytes(1000)));
  await age(tenant, id);
  await eventually(async () => expect((await download(tenant, url)).status).toBe(404));
  await eventually(async () => expect(await contents(tenant)).toBe(0));
  await tenant.close();
});
