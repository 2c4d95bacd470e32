import { Injectable } from '@nestjs/common';
import { atMost, half, type Holder, Shares } from '../../../core/sharing/shares.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';

/** How much waits for clients in this process, and how much of it for one caller. */
const MAX_WAITING = 2_000;
const MAX_WAITING_OF_CALLER = 100;
/** What the clients are asked and have sent, in units of JSON text. */
const MAX_SIZE = 64 * 1024 * 1024;

/** How many requests of one call can wait for the client; further ones are refused. */
export const MAX_QUESTIONS = 8;
/** In UTF-16 code units. */
export const MAX_QUESTION_SIZE = 1024 * 1024;

/** Places for what waits in this process until a client answers a question of an upstream. */
@Injectable()
export class WaitingPlaces {
  private readonly places = new Shares(MAX_WAITING, [half, atMost(MAX_WAITING_OF_CALLER)]);
  private readonly sizes = new Shares(MAX_SIZE, [half, half]);

  /**
   * Returns a function that gives the place back. Call it once.
   * @param holder the organization and the caller
   * @throws UpstreamError `busy`
   */
  enter(holder: Holder, size: number): () => void {
    const claim = { holder, also: { of: this.sizes, holder, units: size } };
    if (!this.places.tryTake(claim)) {
      throw new UpstreamError('busy', 'Too many calls wait for answers of their clients.');
    }
    return () => this.places.giveBack(claim);
  }
}
