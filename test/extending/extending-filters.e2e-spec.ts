import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type ArgumentsHost,
  BadRequestException,
  Catch,
  Controller,
  createParamDecorator,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Header,
  Injectable,
  Module,
  type PipeTransform,
  Post,
  Req,
  Res,
  Scope,
  type Type,
  UseFilters,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import supertest from 'supertest';
import { Access } from '../../src/core/access.js';
import { DomainError } from '../../src/core/domain-error.js';
import { McpErrorResponder } from '../../src/proxy/http/mcp-error-responder.js';
import { McpEndpoint } from '../../src/proxy/http/mcp.controller.js';
import { startTestApp, type TestApp, type TestAppOptions } from '../support/app.js';

/** Answers what the extension alone knows. */
class LedgerClosedError extends Error {}

@Catch(LedgerClosedError)
class LedgerFilter implements ExceptionFilter {
  catch(_error: LedgerClosedError, host: ArgumentsHost): void {
    void host.switchToHttp().getResponse<FastifyReply>().status(423).send({ ledger: 'closed' });
  }
}

/** Adds to the answers to refused credentials, and leaves their form alone. */
@Catch(DomainError)
class CredentialFilter implements ExceptionFilter {
  catch({ code }: DomainError, host: ArgumentsHost): void {
    void host.switchToHttp().getResponse<FastifyReply>().status(401).send({ refused: code });
  }
}

const UserAgent = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  return context.switchToHttp().getRequest<FastifyRequest>().headers['user-agent'];
});

@Injectable()
class UpperCasePipe implements PipeTransform {
  transform(value: unknown): unknown {
    if (value === 'curl/bad') throw new BadRequestException('This agent is not welcome.');
    return typeof value === 'string' ? value.toUpperCase() : value;
  }
}

async function refuse(): Promise<void> {
  throw new LedgerClosedError('The ledger is closed.');
}

@Controller('extension/:org')
class LedgerController {
  @Post('plain')
  @McpEndpoint()
  plain(@Req() _request: FastifyRequest, @Res() _reply: FastifyReply): Promise<void> {
    return refuse();
  }

  @Post('above')
  @UseFilters(LedgerFilter)
  @McpEndpoint()
  above(@Req() _request: FastifyRequest, @Res() _reply: FastifyReply): Promise<void> {
    return refuse();
  }

  @Post('below')
  @McpEndpoint()
  @UseFilters(LedgerFilter)
  below(@Req() _request: FastifyRequest, @Res() _reply: FastifyReply): Promise<void> {
    return refuse();
  }

  @Post('agent')
  @McpEndpoint()
  @Header('x-extension', 'yes')
  async agent(@UserAgent() agent: string, @Res() reply: FastifyReply): Promise<void> {
    await reply.send({ agent });
  }

  @Get('agent')
  @Access('organization')
  get(@UserAgent(UpperCasePipe) agent: string): { agent: string } {
    return { agent };
  }
}

@UseFilters(LedgerFilter)
@Controller('extension/:org/controller')
class FilteredController {
  @Post()
  @McpEndpoint()
  post(@Req() _request: FastifyRequest, @Res() _reply: FastifyReply): Promise<void> {
    return refuse();
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  intercept(_context: ExecutionContext, next: { handle(): unknown }): unknown {
    return next.handle();
  }
}

const moduleOf = (metadata: Parameters<typeof Module>[0]): Type => {
  @Module(metadata)
  class ExtensionModule {}
  return ExtensionModule;
};
const LEDGER = moduleOf({ controllers: [LedgerController, FilteredController] });

let service: TestApp | undefined;
afterEach(() => service?.close());

async function start(modules: Type[], beforeListening?: TestAppOptions['beforeListening']): Promise<TestApp> {
  service = await startTestApp({ modules, ...(beforeListening && { beforeListening }) });
  return service;
}

const post = ({ url, apiKey }: TestApp, path: string): supertest.Test =>
  supertest(url).post(path).set('authorization', `Bearer ${apiKey}`).send({ jsonrpc: '2.0', id: 1, method: 'ping' });

describe('an MCP endpoint of a module', () => {
  it('answers errors as JSON-RPC', async () => {
    const refused = await post(await start([LEDGER]), '/extension/default/plain');
    expect(refused.status).toBe(500);
    expect(refused.body).toMatchObject({ jsonrpc: '2.0', id: 1, error: { data: { code: 'internal' } } });
  });
});

describe('an exception filter', () => {
  it('of an MCP route is used, wherever it is declared', async () => {
    const app = await start([LEDGER]);
    for (const path of ['above', 'below', 'controller']) {
      const answer = await post(app, `/extension/default/${path}`);
      expect([path, answer.status, answer.body]).toEqual([path, 423, { ledger: 'closed' }]);
    }
  });

  it.each<{ by: string; modules?: Type[]; beforeListening?: TestAppOptions['beforeListening'] }>([
    { by: 'APP_FILTER', modules: [moduleOf({ providers: [{ provide: APP_FILTER, useClass: LedgerFilter }] })] },
    { by: 'useGlobalFilters', beforeListening: (app) => app.useGlobalFilters(new LedgerFilter()) },
    {
      by: 'APP_FILTER, for each request',
      modules: [moduleOf({ providers: [{ provide: APP_FILTER, useClass: LedgerFilter, scope: Scope.REQUEST }] })],
    },
  ])('of all routes is used on MCP routes too: $by', async ({ modules = [], beforeListening }) => {
    const app = await start([LEDGER, ...modules], beforeListening);
    const answer = await post(app, '/extension/default/plain');
    expect([answer.status, answer.body]).toEqual([423, { ledger: 'closed' }]);
    expect((await post(app, '/api/default/mcp/self')).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  it("leaves other errors in the route's format", async () => {
    const app = await start([moduleOf({ providers: [{ provide: APP_FILTER, useClass: LedgerFilter }] })]);
    const onMcp = await post({ ...app, apiKey: 'sbx_wrong' }, '/api/default/mcp/self');
    expect(onMcp.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { data: { code: 'credential_invalid' } } });
    expect(onMcp.headers['www-authenticate']).toContain('Bearer ');
    const onTool = await post({ ...app, apiKey: 'sbx_wrong' }, '/api/default/tools/API_KEY_LIST');
    expect(onTool.headers['content-type']).toContain('application/problem+json');
  });

  it.each(['/api/default/mcp/self', '/api/default/tools/API_KEY_LIST'])(
    'gets what is refused before the body is read: %s',
    async (path) => {
      const app = await start([moduleOf({ providers: [{ provide: APP_FILTER, useClass: CredentialFilter }] })]);
      const answer = await post({ ...app, apiKey: 'sbx_wrong' }, path);
      expect([answer.status, answer.body]).toEqual([401, { refused: 'credential_invalid' }]);
    },
  );

  it('is not needed for an error before the handler to be JSON-RPC', async () => {
    const app = await start([]);
    const answer = await post(app, '/api/default/mcp/self').set('content-type', 'text/plain').send('ping');
    expect(answer.status).toBe(415);
    expect(answer.body).toMatchObject({ jsonrpc: '2.0', error: { data: { code: 'unsupported_media_type' } } });
  });

  it('that fails is answered all the same', async () => {
    const app = await start([LEDGER]);
    const failing = jest.spyOn(McpErrorResponder.prototype, 'respondWithError').mockImplementation(() => {
      throw new Error('not even that');
    });
    try {
      expect((await post({ ...app, apiKey: 'sbx_wrong' }, '/extension/default/below')).status).toBe(500);
    } finally {
      failing.mockRestore();
    }
  });
});

describe('a parameter decorator', () => {
  it('works on an MCP route, with the other decorators of Nest', async () => {
    const answer = await post(await start([LEDGER]), '/extension/default/agent').set('user-agent', 'curl/8');
    expect(answer.body).toEqual({ agent: 'curl/8' });
    expect(answer.headers['x-extension']).toBe('yes');
  });

  it('works with pipes: its own, and those of all routes', async () => {
    const pipes = moduleOf({ providers: [{ provide: APP_PIPE, useClass: UpperCasePipe }] });
    const app = await start([LEDGER, pipes]);
    const onMcp = await post(app, '/extension/default/agent').set('user-agent', 'curl/8');
    expect(onMcp.body).toEqual({ agent: 'CURL/8' });
    const refused = await post(app, '/extension/default/agent').set('user-agent', 'curl/bad');
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ id: 1, error: { message: 'This agent is not welcome.' } });
    const get = supertest(app.url).get('/extension/default/agent').set('authorization', `Bearer ${app.apiKey}`);
    expect((await get.set('user-agent', 'curl/8')).body).toEqual({ agent: 'CURL/8' });
  });
});

describe('a controller', () => {
  it('with instances for each request is reached', async () => {
    const perRequest = moduleOf({
      providers: [{ provide: APP_INTERCEPTOR, useClass: PerRequest, scope: Scope.REQUEST }],
    });
    const app = await start([perRequest]);
    expect((await post(app, '/api/default/mcp/self')).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });
});
