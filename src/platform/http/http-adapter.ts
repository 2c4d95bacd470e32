import type { RequestMethod } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';

/**
 * Fastify under Nest. `@fastify/middie` checks every request for middleware, so it is registered only when a module or
 * `app.use()` adds some. Its registration follows that of the service's hooks, so that these run first.
 */
export class HttpAdapter extends FastifyAdapter {
  private hasMiddleware = false;

  /**
   * Nest calls this when it creates the adapter, and again when the application starts, after all `app.use()` calls.
   */
  override async init(): Promise<void> {
    if (this.hasMiddleware) await super.init();
  }

  override use(...args: unknown[]): unknown {
    this.prepareForMiddleware();
    return super.use(...args) as unknown;
  }

  override createMiddlewareFactory(method: RequestMethod): ReturnType<FastifyAdapter['createMiddlewareFactory']> {
    this.prepareForMiddleware();
    return super.createMiddlewareFactory(method);
  }

  /** Responses of middleware bypass Fastify's reply, so the headers of every response are set here. */
  private prepareForMiddleware(): void {
    if (this.hasMiddleware) return;
    this.hasMiddleware = true;
    this.getInstance().addHook('onRequest', (_request, reply, done) => {
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      done();
    });
  }
}
