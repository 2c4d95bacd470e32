import { describe, expect, it } from '@jest/globals';
import { request } from 'node:http';
import { RouteAccessTable } from '../../../src/identity/auth/route-access-table.js';
import { startTestApp } from '../../support/app.js';
import { useStarted } from '../../support/use-started.js';

interface Route {
  method: string;
  path: string;
}

const routes: Route[] = [];
const service = useStarted(() =>
  startTestApp({
    onRoute: ({ method, url }) => {
      routes.push(...[method].flat().map((name) => ({ method: name, path: url })));
    },
  }),
);

/**
 * The access that the guard requires, and how browser tokens have it. Routes outside controllers (the reference) have
 * no guard.
 */
function accessOf({ method, path }: Route): string {
  const declared = service.app.get(RouteAccessTable, { strict: false }).all();
  const { access = 'public', threadAccess } =
    declared.find((route) => route.path === path && [method, getFor(method)].includes(route.method)) ?? {};
  return threadAccess === undefined ? access : `${access}, browser tokens: ${threadAccess}`;
}

/** HEAD has the access of GET. */
function getFor(method: string): string {
  return method === 'HEAD' ? 'GET' : method;
}

/** The status of an anonymous request. Does not read the response body. */
function statusWithoutCredential({ method, path }: Route): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const target = `${service.url}${path.replaceAll(/:\w+/g, 'default').replace('*', 'none')}`;
  const call = request(target, { method }, (response) => {
    resolve(response.statusCode);
    response.destroy();
  });
  call.on('error', reject);
  call.end();
  return promise;
}

describe('the access of all routes', () => {
  it('matches this table', () => {
    const table = routes.map((route) => `${route.method} ${route.path} ${accessOf(route)}`).sort();
    expect(table).toMatchInlineSnapshot(`
     [
       "DELETE /api/:org/mcp/:connectionId mcp",
       "DELETE /api/:org/mcp/gateway/:virtualMcpId mcp",
       "DELETE /api/:org/mcp/self mcp",
       "DELETE /api/:org/v1/responses/:responseId organization",
       "DELETE /console/session public",
       "DELETE /mcp/:connectionId mcp",
       "GET / public",
       "GET /.well-known/oauth-authorization-server public",
       "GET /.well-known/oauth-protected-resource/api/:org public",
       "GET /.well-known/oauth-protected-resource/api/:org/mcp/:connectionId public",
       "GET /.well-known/oauth-protected-resource/api/:org/mcp/gateway/:virtualMcpId public",
       "GET /.well-known/oauth-protected-resource/mcp/:connectionId public",
       "GET /.well-known/openid-configuration public",
       "GET /api/:org/.well-known/oauth-protected-resource public",
       "GET /api/:org/agent-runtime/runs/:taskId organization, browser tokens: run",
       "GET /api/:org/agent-runtime/threads/:threadId/stream organization, browser tokens: read",
       "GET /api/:org/events organization",
       "GET /api/:org/files/:fileId organization, browser tokens: tool",
       "GET /api/:org/files/:fileId/content public",
       "GET /api/:org/mcp/:connectionId mcp",
       "GET /api/:org/mcp/:connectionId/.well-known/oauth-protected-resource public",
       "GET /api/:org/mcp/gateway/:virtualMcpId mcp",
       "GET /api/:org/mcp/gateway/:virtualMcpId/.well-known/oauth-protected-resource public",
       "GET /api/:org/mcp/self mcp",
       "GET /api/:org/tools organization",
       "GET /api/:org/v1/models organization",
       "GET /api/:org/v1/models/:model organization",
       "GET /api/:org/v1/responses/:responseId organization",
       "GET /api/:org/v1/responses/:responseId/input_items organization",
       "GET /auth/oidc public",
       "GET /auth/oidc/callback public",
       "GET /connections/:id/authorize public",
       "GET /connections/:id/authorize/continue public",
       "GET /console public",
       "GET /console/* public",
       "GET /console/assets/* public",
       "GET /console/session public",
       "GET /docs public",
       "GET /docs/ public",
       "GET /docs/* public",
       "GET /docs/LICENSE public",
       "GET /docs/docs/swagger-ui-init.js public",
       "GET /docs/index.html public",
       "GET /docs/swagger-ui-init.js public",
       "GET /health/live public",
       "GET /health/ready public",
       "GET /invitation public",
       "GET /mcp/:connectionId mcp",
       "GET /mcp/:connectionId/.well-known/oauth-protected-resource public",
       "GET /oauth/authorize public",
       "GET /oauth/authorize/:uid public",
       "GET /oauth/callback public",
       "GET /oauth/callback/:place public",
       "GET /oauth/client-metadata.json public",
       "GET /oauth/client-metadata/:place.json public",
       "GET /oauth/interaction/:uid public",
       "GET /oauth/jwks public",
       "GET /openapi.json public",
       "GET /pages/:file public",
       "GET /password public",
       "GET /password/changed public",
       "GET /reset public",
       "GET /setup public",
       "GET /sign-in public",
       "HEAD /api/:org/mcp/:connectionId mcp",
       "HEAD /api/:org/mcp/gateway/:virtualMcpId mcp",
       "HEAD /api/:org/mcp/self mcp",
       "HEAD /console/assets/* public",
       "HEAD /docs/* public",
       "HEAD /mcp/:connectionId mcp",
       "OPTIONS /.well-known/oauth-authorization-server public",
       "OPTIONS /.well-known/openid-configuration public",
       "OPTIONS /oauth/jwks public",
       "OPTIONS /oauth/register public",
       "OPTIONS /oauth/revoke public",
       "OPTIONS /oauth/token public",
       "POST /api/:org/agent-runtime/threads/:threadId/approvals/:approvalId organization, browser tokens: approve",
       "POST /api/:org/agent-runtime/threads/:threadId/cancel organization, browser tokens: cancel",
       "POST /api/:org/agent-runtime/threads/:threadId/messages organization, browser tokens: post",
       "POST /api/:org/agent-runtime/threads/:threadId/regenerate organization, browser tokens: post",
       "POST /api/:org/agent-runtime/threads/:threadId/steer organization, browser tokens: post",
       "POST /api/:org/files organization, browser tokens: tool",
       "POST /api/:org/mcp/:connectionId mcp",
       "POST /api/:org/mcp/:connectionId/call-tool/:toolName mcp",
       "POST /api/:org/mcp/gateway/:virtualMcpId mcp",
       "POST /api/:org/mcp/self mcp",
       "POST /api/:org/monitoring/export organization",
       "POST /api/:org/tools/:name tool, browser tokens: tool",
       "POST /api/:org/v1/responses organization",
       "POST /api/:org/v1/responses/:responseId/cancel organization",
       "POST /console/session public",
       "POST /invitation public",
       "POST /mcp/:connectionId mcp",
       "POST /mcp/:connectionId/call-tool/:toolName mcp",
       "POST /oauth/interaction/:uid public",
       "POST /oauth/register public",
       "POST /oauth/revoke public",
       "POST /oauth/token public",
       "POST /password public",
       "POST /reset public",
       "POST /setup public",
       "POST /sign-in public",
       "POST /sign-out public",
     ]
    `);
  });

  it('matches the responses of the running service', async () => {
    for (const route of routes) {
      const refused = (await statusWithoutCredential(route)) === 401;
      expect({ ...route, refused }).toEqual({ ...route, refused: accessOf(route) !== 'public' });
    }
  });
});
