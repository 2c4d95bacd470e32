import type { RequestMethod } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';

/**
 * Fastify under Nest. `@fastify/middie`, which runs middleware, looks for some in every request: it is registered only once a
 * module or `app.use()` brings some, and after our own hooks, so that these come first.
 */
export class HttpAdapter extends FastifyAdapter {
  private hasMiddleware = false;

  /** Called when the adapter is made and again when the application starts, which is when `app.use()` has been called. */
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

  /** What middleware answers by itself goes past Fastify's reply, and gets the headers of every response all the same. */
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
