import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { expectProblem } from '../support/problem.js';
import { startSecondOrganization } from '../support/second-organization.js';
import { DEAD_URL, HEADER, TOKEN, useConnectionsApp } from './connections.support.js';

const connections = useConnectionsApp();
const { create, rowOf } = connections;

describe('what is refused', () => {
  const headers = (map: unknown): object => ({ connection_headers: { headers: map } });

  it.each<[string, object, string, string?]>([
    ['no title', { title: undefined }, 'data.title'],
    ['a title of null', { title: null }, 'data.title'],
    ['a blank title', { title: '  ' }, 'data.title'],
    ['a title of two lines', { title: 'a\nb' }, 'data.title'],
    ['a long title', { title: 'a'.repeat(129) }, 'data.title'],
    ['a description with NUL', { description: 'a\u0000b' }, 'data.description'],
    ['a long description', { description: 'a'.repeat(2001) }, 'data.description'],
    ['a program', { stdio: { command: 'node' } }, 'data.stdio'],
    ['VIRTUAL', { connection_type: 'VIRTUAL' }, 'data.connection_type'],
    ['no type', { connection_type: undefined }, 'data.connection_type'],
    ['no URL', { connection_url: undefined }, 'data.connection_url'],
    ['a relative URL', { connection_url: '/mcp' }, 'data.connection_url'],
    ['another scheme', { connection_url: 'ftp://example.com/' }, 'data.connection_url'],
    ['a URL with a line break', { connection_url: 'http://exam\nple.com/' }, 'data.connection_url'],
    ['a long URL', { connection_url: `http://example.com/${'a'.repeat(2048)}` }, 'data.connection_url'],
    [
      'a URL with credentials',
      { connection_url: 'http://user:pass@example.com/' },
      'data.connection_url',
      'address_refused',
    ],
    ['a URL with a fragment', { connection_url: 'http://example.com/#x' }, 'data.connection_url', 'address_refused'],
    ['an unspecified address', { connection_url: 'http://0.0.0.0:3000/' }, 'data.connection_url', 'address_refused'],
    ['a multicast address', { connection_url: 'http://[ff02::1]/' }, 'data.connection_url', 'address_refused'],
    ['an empty token', { connection_token: '' }, 'data.connection_token'],
    ['a token with the scheme', { connection_token: `Bearer ${TOKEN}` }, 'data.connection_token'],
    ['a token with a line break', { connection_token: `${TOKEN}\r\nX-Evil: 1` }, 'data.connection_token'],
    ['a masked token where none is stored', { connection_token: '***' }, 'data.connection_token'],
    ['headers that are a list', { connection_headers: [] }, 'data.connection_headers'],
    ['headers without the map', { connection_headers: {} }, 'data.connection_headers.headers'],
    [
      'headers beside the map',
      { connection_headers: { headers: {}, 'X-Api-Key': HEADER } },
      'data.connection_headers.X-Api-Key',
    ],
    ['a header that is a number', headers({ 'X-Api-Key': 1 }), 'data.connection_headers.headers'],
    ['a hop-by-hop header', headers({ Connection: 'close' }), 'data.connection_headers.headers.Connection'],
    ['a framing header', headers({ 'content-length': '1' }), 'data.connection_headers.headers.content-length'],
    ['a header of the protocol', headers({ 'Mcp-Session-Id': '1' }), 'data.connection_headers.headers.Mcp-Session-Id'],
    ['a header of ours', headers({ 'x-signalbox-user': '1' }), 'data.connection_headers.headers.x-signalbox-user'],
    ['a header value with CRLF', headers({ 'X-Key': `${HEADER}\r\nX: 1` }), 'data.connection_headers.headers.X-Key'],
    ['a value in the place of a name', headers({ [`Bearer ${HEADER}`]: '' }), 'data.connection_headers.headers'],
    ['a header twice', headers({ 'X-Key': '1', 'x-key': '2' }), 'data.connection_headers.headers.x-key'],
    ['a masked header where none is stored', headers({ 'X-Key': '***' }), 'data.connection_headers.headers.X-Key'],
    ['a short timeout', { timeout: 999 }, 'data.timeout'],
    ['a long timeout', { timeout: 3_600_001 }, 'data.timeout'],
    ['a timeout of text', { timeout: '1000' }, 'data.timeout'],
    ['a status that is only found out', { status: 'error' }, 'data.status'],
    ['another rule for public tools', { public_tools: 'always' }, 'data.public_tools'],
    ['an unknown property', { revision: 7 }, 'data.revision'],
  ])('%s', async (_name, change, path, code = 'invalid_request') => {
    const data = { connection_type: 'HTTP', title: 'Refused', connection_url: DEAD_URL, ...change };
    const answer = await connections.service.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    expect(answer.body).toMatchObject({ status: 400, code });
    expect(answer.body.errors.map((fault: { path: string }) => fault.path)).toContain(path);
    expect(answer.text).not.toMatch(/nobody-may-see/);
  });

  it('says where agents are created', async () => {
    const answer = await connections.service.tool('COLLECTION_CONNECTIONS_CREATE', {
      data: { connection_type: 'VIRTUAL', title: 'x' },
    });
    expect(answer.body.detail).toContain('COLLECTION_VIRTUAL_MCP_CREATE');
  });

  it.each([
    [{ title: null }, 'data.title'],
    [{ timeout: null }, 'data.timeout'],
    [{ status: null }, 'data.status'],
    [{ connection_url: null }, 'data.connection_url'],
    [{ connection_type: 'STDIO' }, 'data.connection_type'],
    [{ stdio: { command: 'node' } }, 'data.stdio'],
    [{ connection_headers: { headers: { 'X-Other': '***' } } }, 'data.connection_headers.headers.X-Other'],
  ])('the update %j', async (data, path) => {
    const { id } = await create({ connection_headers: { headers: { 'X-Api-Key': HEADER } } });
    const before = await rowOf(id);
    const answer = await connections.service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data });
    expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(answer.body.errors.map((fault: { path: string }) => fault.path)).toContain(path);
    expect(await rowOf(id)).toEqual(before);
  });

  it.each([
    [{}],
    [{ connection_token: '***', connection_headers: null }],
    [{ connection_token: null }],
    [{ connection_token: null, connection_headers: { headers: { 'X-New': '1', 'x-api-key': '***' } } }],
  ])('another server with stored credentials, %j', async (credentials) => {
    const { id } = await create({
      connection_token: TOKEN,
      connection_headers: { headers: { 'X-Api-Key': HEADER } },
    });
    const before = await rowOf(id);
    const data = { connection_url: 'http://127.0.0.1:10/mcp', ...credentials };
    const answer = await connections.service.tool('COLLECTION_CONNECTIONS_UPDATE', { id, data });
    expect(answer.body).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ path: 'data.connection_url', message: expect.stringContaining('again, or null, in the same update') }],
    });
    expect(await rowOf(id)).toEqual(before);
  });

  it.each([
    [{}, 'id'],
    [{ id: 'x' }, 'id'],
    [{ id: randomUUID(), more: 1 }, 'more'],
  ])('the id %j', async (body, path) => {
    const answer = await connections.service.tool('COLLECTION_CONNECTIONS_GET', body);
    expect(answer.body).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ path }] });
  });
});

describe('STDIO_ORGANIZATIONS', () => {
  it('decides which organizations can run programs, whatever the key allows', async () => {
    const data = { title: 'Program', connection_type: 'STDIO', stdio: { command: 'node', args: ['--version'] } };
    // Every tenant is among them, and no other organization.
    await connections.service.tool('COLLECTION_CONNECTIONS_CREATE', { data }).expect(200);
    const other = await startSecondOrganization(connections.service, 'other');
    const refused = await other.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    expect(expectProblem(refused, 403, 'permission_denied').detail).toContain('STDIO_ORGANIZATIONS');
  });
});
