import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { pathOf } from '../identity/organizations/organizations.support.js';
import { addPerson, Browser, newEmail, PASSWORD } from '../identity/sign-in/people.js';
import { startTestService, type TestService } from '../support/service.js';
import { COMPILED } from '../support/service-process.js';

const LIMIT_MS = 60_000;

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service?.close());

/** Runs a built command; returns what it prints and its exit code. */
function run(command: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const file = fileURLToPath(new URL(`../../dist/boot/${command}.js`, import.meta.url));
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: COMPILED,
    DATABASE_URL: service.database.url,
    ENCRYPTION_KEYS: generateEncryptionKey('test'),
    BASE_URL: service.url,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('npm run owner:reset', () => {
  it(
    'prints a link that replaces the password of an owner',
    async () => {
      const email = newEmail();
      await addPerson(service, { email, role: 'owner' });
      const { code, stdout, stderr } = await run('reset-owner', 'default');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^http:\S+\/setup\?token=[\w-]{43}\n$/);
      const fields = { name: 'Ada', email, password: 'walnut kettle orbit' };
      const browser = new Browser(service.url);
      expect((await browser.submit(pathOf(stdout.trim()), fields)).status).toBe(303);
      expect((await new Browser(service.url).signIn(email)).status).toBe(401);
      expect((await new Browser(service.url).signIn(email, 'walnut kettle orbit')).status).toBe(303);
    },
    LIMIT_MS,
  );

  it(
    'does not set the password of a person outside the organization',
    async () => {
      const { stdout } = await run('create-organization', 'elsewhere', '--owner', 'grace@example.com');
      const grace = new Browser(service.url);
      await grace.submit(pathOf(stdout.trim()), { name: 'Grace', password: PASSWORD });
      const reset = await run('reset-owner', 'default');
      const fields = { name: 'Grace', email: 'grace@example.com', password: 'walnut kettle orbit' };
      const answer = await new Browser(service.url).submit(pathOf(reset.stdout.trim()), fields);
      expect({ status: answer.status, text: answer.text }).toEqual({
        status: 422,
        text: expect.stringContaining('Sign in with it'),
      });
      expect((await grace.submit(pathOf(reset.stdout.trim()), {})).status).toBe(303);
      const { body } = await service.tool('MEMBER_LIST', {
        where: { field: ['email'], operator: 'eq', value: 'grace@example.com' },
      });
      expect(body.items).toMatchObject([{ role: 'owner', name: 'Grace' }]);
    },
    LIMIT_MS,
  );

  it(
    'names what is wrong in one line',
    async () => {
      expect(await run('reset-owner')).toEqual({
        code: 1,
        stdout: '',
        stderr: 'Usage: npm run owner:reset -- <org>\n',
      });
      expect((await run('reset-owner', 'none')).stderr).toBe('There is no organization with the slug none.\n');
    },
    LIMIT_MS,
  );
});

describe('npm run password:reset', () => {
  it(
    'prints a link that sets the password of an account',
    async () => {
      const email = newEmail();
      await addPerson(service, { email });
      const { code, stdout, stderr } = await run('reset-password', email);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^http:\S+\/reset\?token=[\w-]{43}\n$/);
      const password = 'walnut kettle orbit';
      expect((await new Browser(service.url).submit(pathOf(stdout.trim()), { password })).status).toBe(303);
      expect((await new Browser(service.url).signIn(email, password)).status).toBe(303);
      expect((await run('reset-password', 'nobody@example.com')).stderr).toBe(
        'There is no account with the address nobody@example.com.\n',
      );
    },
    LIMIT_MS,
  );
});

describe('npm run org:create', () => {
  it(
    'creates an organization and invites its owner',
    async () => {
      const email = newEmail();
      const { code, stdout } = await run('create-organization', 'acme', '--owner', email);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^http:\S+\/invitation\?token=[\w-]{43}\n$/);
      const page = await new Browser(service.url).get(pathOf(stdout.trim()));
      expect(page.text).toContain('Join acme');
      expect(page.text).toContain('owner');
    },
    LIMIT_MS,
  );

  it(
    'names what is wrong in one line',
    async () => {
      const usage = 'Usage: npm run org:create -- <slug> --owner <email>\n';
      expect((await run('create-organization', 'x')).stderr).toBe(usage);
      expect((await run('create-organization', 'Not_A_Slug', '--owner', 'a@example.com')).stderr).toMatch(
        /^The slug must be/,
      );
      expect((await run('create-organization', 'default', '--owner', 'a@example.com')).stderr).toMatch(/exists/);
      expect((await run('create-organization', 'new', '--owner', 'nobody')).stderr).toMatch(/^--owner must be/);
    },
    LIMIT_MS,
  );
});
