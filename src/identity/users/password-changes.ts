import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

/** Ends what a former password opened, in the transaction that changes it. */
type EndAccess = (manager: EntityManager, userId: string) => Promise<void>;

/**
 * What ends when a person's password is changed, reset or removed, and what else when an account gets another owner.
 * Modules that give people access (browser sessions, grants, API keys) register in their constructors: the first start
 * can set a password before any module is initialized.
 */
@Injectable()
export class PasswordChanges {
  private readonly ends: EndAccess[] = [];
  private readonly endsForOwner: EndAccess[] = [];

  register(end: EndAccess): void {
    this.ends.push(end);
  }

  /** For what outlasts a changed password, but not a change of the owner. */
  registerForOwner(end: EndAccess): void {
    this.endsForOwner.push(end);
  }

  /** Runs every registered function. If one fails, the password does not change. */
  async endAccess(manager: EntityManager, userId: string, { hasNewOwner = false } = {}): Promise<void> {
    const ends = hasNewOwner ? [...this.ends, ...this.endsForOwner] : this.ends;
    for (const end of ends) await end(manager, userId);
  }
}
