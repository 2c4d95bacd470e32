import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AnswerBudget, type AnswerHolder, type HeldAnswer, disconnectStalledReader } from './answer-budget.js';

/** The response whose memory is reserved, and what reserves it. */
export interface AnsweredWithRoom {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly rooms: AnswerRooms;
}

/** The room of one answer, however many stages of its processing ask for it. */
export interface AnswerRoom {
  /**
   * Waits for room; at once for an answer that has some.
   * @param bytes of memory that the answer needs at most
   * @throws DomainError `answer_memory_exhausted`
   */
  enter(bytes: number): Promise<void>;
  /**
   * Takes more room, at once, for what is in memory already and so cannot wait. The room of a response does nothing: the
   * same bytes count when they are sent.
   * @throws DomainError `answer_memory_exhausted`
   */
  reserve(bytes: number): void;
}

/** Room for an answer that this service uses itself. Whoever opened it gives it back. */
export class OwnRoom implements AnswerRoom {
  private readonly left = new AbortController();
  private readonly held: HeldAnswer;
  private entering: Promise<void> | undefined;

  constructor(budget: AnswerBudget, holder: AnswerHolder) {
    this.held = budget.openAnswer(holder, this.left.signal);
  }

  enter(bytes: number): Promise<void> {
    this.entering ??= this.held.reserveInTurn(bytes);
    return this.entering;
  }

  reserve(bytes: number): void {
    this.held.reserve(bytes);
  }

  /** Gives the room back, and ends the wait for it. */
  leave(): void {
    this.held.release();
    this.left.abort();
  }
}

/** The room of one response. */
interface Room {
  readonly entering: Promise<void>;
  readonly held: HeldAnswer;
}

/**
 * Memory for responses that turn out to be large while they are read. They are not read further until there is room. A
 * response has one room however many stages of its processing ask for it, and gives it back when it has been sent or
 * its caller has disconnected. A reader that takes nothing is disconnected, so that it cannot keep the room.
 */
@Injectable()
export class AnswerRooms {
  private readonly rooms = new WeakMap<FastifyReply, Room>();

  constructor(private readonly budget: AnswerBudget) {}

  /** Room for an answer that no response passes on. Leave it. */
  open(holder: AnswerHolder): OwnRoom {
    return new OwnRoom(this.budget, holder);
  }

  /** Does work of the service itself for an organization, which reads answers that no response passes on. */
  async withOwnRoom<T>(organizationId: string, work: (room: AnswerRoom) => Promise<T>): Promise<T> {
    const room = this.open({ organization: { id: organizationId }, callerId: '' });
    try {
      return await work(room);
    } finally {
      room.leave();
    }
  }

  /** The room of a response, for those who know neither. */
  roomOf(request: FastifyRequest, reply: FastifyReply): AnswerRoom {
    return { enter: (bytes) => this.enter(request, reply, bytes), reserve: () => undefined };
  }

  /**
   * Room for an answer that this service reads and sends again as a part of a response, until that has been sent. A
   * reader that takes nothing of it is disconnected.
   */
  openUntilSent({ principal }: FastifyRequest, { raw }: FastifyReply): AnswerRoom {
    const room = this.open(principal);
    if (raw.destroyed) room.leave();
    raw.once('close', () => room.leave());
    disconnectStalledReader(raw);
    return room;
  }

  /** True if the response has room, false while it waits for some. */
  has(reply: FastifyReply): boolean {
    return this.rooms.has(reply);
  }

  /**
   * Waits for room; at once for a response that has some, and for one without a reader.
   * @param bytes of memory that the response needs at most
   * @throws DomainError `answer_memory_exhausted`
   */
  async enter(request: FastifyRequest, reply: FastifyReply, bytes: number): Promise<void> {
    const known = this.rooms.get(reply);
    if (known !== undefined) return known.entering;
    const { raw } = reply;
    if (raw.destroyed) return;
    const held = this.budget.openAnswer(request.principal);
    const entering = held.reserveInTurn(bytes);
    const room = { held, entering };
    this.rooms.set(reply, room);
    const leave = (): void => this.leave(reply);
    raw.once('close', leave);
    try {
      await entering;
      disconnectStalledReader(raw);
    } catch (error) {
      raw.off('close', leave);
      this.leave(reply);
      throw error;
    }
  }

  /** Gives the room back before the response has ended, because nothing large of it is buffered any more. */
  leave(reply: FastifyReply): void {
    this.rooms.get(reply)?.held.release();
    this.rooms.delete(reply);
  }
}
