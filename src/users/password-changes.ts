import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

/** Ends what a former password opened, in the transaction that changes it. */
export type EndAccess = (manager: EntityManager, userId: string) => Promise<void>;

/**
 * What ends when a person's password is changed, reset or removed. Modules that give people access (browser sessions, grants)
 * register at the start, in `onModuleInit`.
 */
@Injectable()
export class PasswordChanges {
  private readonly ends: EndAccess[] = [];

  register(end: EndAccess): void {
    this.ends.push(end);
  }

  /** Runs every registered function. If one fails, the password does not change. */
  async endAccess(manager: EntityManager, userId: string): Promise<void> {
    for (const end of this.ends) await end(manager, userId);
  }
}
