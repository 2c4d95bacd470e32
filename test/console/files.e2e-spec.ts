import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import supertest from 'supertest';
import { newTenant, type Tenant } from '../support/tenant.js';

/** Of JavaScript, compressed with gzip, that the browser loads before the first view. */
const FIRST_LOAD_BYTES = 300 * 1024;

let service: Tenant;

beforeAll(async () => {
  service = await newTenant();
});
afterAll(() => service?.close());

const get = (path: string): supertest.Test => supertest(service.url).get(path);

/** The files that the page names, by extension. */
async function filesOf(extension: string): Promise<string[]> {
  const { text } = await get('/console').expect(200);
  return [...text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)]
    .map(([, path = '']) => path)
    .filter((path) => path.endsWith(extension));
}

describe('the files of the console', () => {
  it.each(['/console', '/console/', '/console/default/runs/none?status=failed'])('has its page at %s', async (path) => {
    const { text, headers } = await get(path).expect(200);
    expect(text).toContain('<div id="root">');
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
  });

  it('lets the page run its own scripts only, and gives each response a nonce of its own', async () => {
    const [first, second] = [await get('/console'), await get('/console')];
    const policy = (first.headers['content-security-policy'] ?? '').split('; ');
    const nonce = /<meta name="csp-nonce" content="([\w-]{22})"/.exec(first.text)?.[1];
    expect(policy.sort()).toEqual(
      [
        "default-src 'none'",
        "script-src 'self'",
        `style-src 'self' 'nonce-${nonce}'`,
        "img-src 'self' data:",
        "font-src 'self'",
        "media-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ].sort(),
    );
    expect(second.text).not.toContain(nonce);
    expect(first.text).not.toMatch(/<script>|<script [^>]*>[^<]|<style|\sstyle=|\son[a-z]+=/i);
  });

  it('names the picture for links by the address of the service', async () => {
    const { text } = await get('/console/default/runs/none?status=failed').expect(200);
    const picture = /<meta property="og:image" content="([^"]+)"/.exec(text)?.[1] ?? '';
    expect(picture).toMatch(/\/console\/assets\/social-[\w-]+\.png$/);
    expect(new URL(picture).origin).toBe(service.url);
    const { headers } = await get(new URL(picture).pathname).expect(200);
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
    });
  });

  it('keeps hashed files for ever, and sends them compressed', async () => {
    const [script = ''] = await filesOf('.js');
    for (const encoding of ['br', 'gzip']) {
      const { headers } = await get(script).set('accept-encoding', encoding).expect(200);
      expect(headers).toMatchObject({
        'content-encoding': encoding,
        'content-type': expect.stringContaining('javascript'),
        'cache-control': 'public, max-age=31536000, immutable',
      });
    }
    const plain = await get(script).set('accept-encoding', 'identity').expect(200);
    expect(plain.headers['content-encoding']).toBeUndefined();
  });

  it('answers 404 for a file that is not there, and serves nothing outside its folder', async () => {
    await get('/console/assets/none.js').expect(404);
    await get('/console/assets/..%2f..%2fmain.js').expect(404);
    await get('/console/assets/').expect(404);
  });

  it('loads at most 300 KB of JavaScript before the first view', async () => {
    const scripts = await filesOf('.js');
    const sizes = await Promise.all(
      scripts.map(async (path) => {
        const { text } = await get(path).expect(200);
        return gzipSync(text).length;
      }),
    );
    expect(scripts.length).toBeGreaterThan(0);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(FIRST_LOAD_BYTES);
  });
});
