import { hash } from '@node-rs/argon2';
import supertest from 'supertest';
import { newId } from '../../../src/core/ids.js';
import type { Tenant } from '../../support/tenant.js';

export const PASSWORD = 'correct horse battery staple 7';

/** Makes an account that is a member of the organization; returns the user's id. */
export async function addPerson(
  { query, org }: Pick<Tenant, 'query' | 'org'>,
  {
    email,
    name = 'Person',
    role = 'member',
    password = PASSWORD,
  }: { email: string; name?: string; role?: string; password?: string | null },
): Promise<string> {
  const id = newId();
  const passwordHash = password === null ? null : await hash(password);
  await query('INSERT INTO users (id, email, name, password_hash) VALUES ($1, $2, $3, $4)', [
    id,
    email,
    name,
    passwordHash,
  ]);
  await query(
    'INSERT INTO members (organization_id, user_id, role) SELECT id, $1, $2 FROM organizations WHERE slug = $3',
    [id, role, org],
  );
  return id;
}

/** What a browser does: keeps cookies, reads the hidden fields of forms and posts them. */
export class Browser {
  /** By name; those that belong to one path only, by name and path. */
  readonly cookies = new Map<string, string>();
  /** Headers of every request, such as `x-forwarded-for`. */
  headers: Record<string, string> = {};

  constructor(readonly url: string) {}

  async get(path: string): Promise<supertest.Response> {
    return this.#keep(await this.#prepare(supertest(this.url).get(path), path));
  }

  /** Posts without having loaded a form. */
  async post(path: string, fields: Readonly<Record<string, string>>): Promise<supertest.Response> {
    return this.#keep(await this.#prepare(supertest(this.url).post(path), path).type('form').send(fields));
  }

  /** Sends what a script of a page sends: JSON, and headers that forms cannot have. */
  async send(
    method: 'get' | 'post' | 'delete',
    path: string,
    { body, headers = {} }: { body?: object | undefined; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<supertest.Response> {
    const test = this.#prepare(supertest(this.url)[method](path), path).set(headers);
    return this.#keep(await (body === undefined ? test : test.send(body)));
  }

  /** Loads the page and submits its first form with these values. */
  async submit(path: string, fields: Readonly<Record<string, string>>): Promise<supertest.Response> {
    const page = await this.get(path);
    const [, form = ''] = /(<form[^]*?<\/form>)/.exec(page.text) ?? [];
    const action = unescaped(/<form[^>]*action="([^"]*)"/.exec(form)?.[1] ?? path);
    return this.post(action, { ...hiddenFieldsOf(form), ...fields });
  }

  signIn(email: string, password: string = PASSWORD, path = '/sign-in'): Promise<supertest.Response> {
    return this.submit(path, { email, password });
  }

  #prepare(test: supertest.Test, path: string): supertest.Test {
    const cookie = [...this.cookies]
      .map(([key, value]) => [...key.split(' '), value])
      .filter((parts) => parts.length === 2 || path.startsWith(parts[1] ?? ''))
      .map((parts) => `${parts[0]}=${parts.at(-1)}`)
      .join('; ');
    return test.redirects(0).set({ ...this.headers, ...(cookie !== '' && { cookie }) });
  }

  #keep(response: supertest.Response): supertest.Response {
    for (const line of [response.headers['set-cookie'] ?? []].flat() as string[]) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? '/';
      const key = path === '/' ? name : `${name} ${path}`;
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) this.cookies.delete(key);
      else this.cookies.set(key, value);
    }
    return response;
  }
}

export function hiddenFieldsOf(markup: string): Record<string, string> {
  const inputs = markup.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

/** An e-mail address that no other test uses. */
export function newEmail(): string {
  return `${newId()}@example.com`;
}
