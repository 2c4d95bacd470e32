import { expect, it } from '@jest/globals';
import { whileLocked } from '../../support/locks.js';
import { expectProblem } from '../../support/problem.js';
import { startTestService } from '../../support/service.js';
import { useStarted } from '../../support/use-started.js';
import { McpOauthClient } from '../oauth/oauth-client.js';
import { addPerson, Browser, newEmail } from '../sign-in/people.js';

const service = useStarted(() => startTestService());
const PERMISSIONS = { self: ['API_KEY_CREATE'] };

it.each([
  ['API_KEY_CREATE', { name: 'made', permissions: PERMISSIONS }],
  ['OAUTH_CLIENT_CREATE', { name: 'Nightly', grant_types: ['client_credentials'], permissions: PERMISSIONS }],
])('%s is refused to a token whose grant is revoked meanwhile', async (name, input) => {
  const email = newEmail();
  const userId = await addPerson(service, { email, role: 'owner' });
  const browser = new Browser(service.url);
  await browser.signIn(email);
  const { access_token: token } = await new McpOauthClient().authorize(`${service.url}/api/default`, browser);
  const answer = await whileLocked(
    service,
    () => service.tool(name, input, token),
    () => service.query('DELETE FROM oauth_grants WHERE user_id = $1', [userId]),
  );
  expectProblem(answer, 401, 'credential_invalid');
  expect(await service.query('SELECT FROM api_keys WHERE user_id = $1', [userId])).toEqual([]);
});
