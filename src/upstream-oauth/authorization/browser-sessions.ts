import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { SignedInBrowser } from './upstream-log-in.repository.js';

/** Tells which person is signed in with the browser that sent a request. */
export interface BrowserSessionSource {
  /** Undefined for a browser in which nobody is signed in. */
  signedIn(request: FastifyRequest): Promise<SignedInBrowser | undefined>;
  /** The page to sign in, from which the browser returns to this path. */
  signInUrl(returnTo: string): string;
}

/** The browser sessions that the pages of this folder rely on. The module that has them registers itself at startup. */
@Injectable()
export class BrowserSessions implements BrowserSessionSource {
  private source: BrowserSessionSource | undefined;

  use(source: BrowserSessionSource): void {
    this.source = source;
  }

  async signedIn(request: FastifyRequest): Promise<SignedInBrowser | undefined> {
    return this.source?.signedIn(request);
  }

  signInUrl(returnTo: string): string {
    return this.source?.signInUrl(returnTo) ?? `/sign-in?return_to=${encodeURIComponent(returnTo)}`;
  }
}
