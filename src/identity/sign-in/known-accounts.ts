import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { newId } from '../../core/ids.js';
import { CookieNames } from '../browser-sessions/cookie-names.js';
import { readCookie, setCookie } from '../../platform/http/cookies.js';
import { VaultService } from '../../platform/vault/vault.service.js';

const CONTEXT = 'cookie:known-accounts';
const KEPT_S = 400 * 24 * 3600;
const MAX_ACCOUNTS = 5;

/** Account id → an id of the pair of this browser and the account. */
type Known = Readonly<Record<string, string>>;

/**
 * Remembers in an encrypted cookie which accounts have been signed in with this browser. Their sign-ins are counted
 * apart, so that failed attempts of other people cannot lock the owner of an account out.
 */
@Injectable()
export class KnownAccounts {
  constructor(
    private readonly vault: VaultService,
    private readonly cookies: CookieNames,
  ) {}

  /** Identifies this browser together with the account; undefined unless the account has been signed in with it. */
  idOf(request: FastifyRequest, userId: string | undefined): string | undefined {
    const known = this.read(request);
    return userId !== undefined && Object.hasOwn(known, userId) ? known[userId] : undefined;
  }

  remember(request: FastifyRequest, reply: FastifyReply, userId: string): void {
    const { [userId]: id = newId(), ...others } = this.read(request);
    const known = Object.fromEntries([...Object.entries(others).slice(1 - MAX_ACCOUNTS), [userId, id]]);
    const sealed = this.vault.seal(JSON.stringify(known), CONTEXT);
    const { isSecure, knownAccounts } = this.cookies;
    setCookie(reply, knownAccounts, Buffer.from(sealed).toString('base64url'), { isSecure, maxAge: KEPT_S });
  }

  private read(request: FastifyRequest): Known {
    const cookie = readCookie(request, this.cookies.knownAccounts);
    if (cookie === undefined) return {};
    try {
      return JSON.parse(this.vault.open(Buffer.from(cookie, 'base64url').toString(), CONTEXT)) as Known;
    } catch {
      // Forged, or sealed under a key that is no longer in use.
      return {};
    }
  }
}
