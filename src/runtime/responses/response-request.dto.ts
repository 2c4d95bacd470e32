import { Injectable, type PipeTransform } from '@nestjs/common';
import { IsBoolean, IsNumber, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { isRecord } from '../../core/is-record.js';
import { AnyJson } from '../../core/validation/presence.js';
import { IsMetadata } from '../../core/validation/is-metadata.js';
import { schemaOf } from '../../core/validation/schema-of.js';
import { validateInput } from '../../core/validation/validate-input.js';

/** What the service reads of the body of a response request. */
export class ResponseRequest {
  /**
   * The agent, by its id or its slug. It can be absent where `previous_response_id` or `conversation` names the thread.
   */
  @IsOptional()
  @IsString()
  @Length(1, 128)
  model?: string | null;

  /** A text, or a list of items of which one user message, or the answers to approval requests, are new. */
  @AnyJson()
  input?: unknown;

  /** A system message of this response. */
  @IsOptional()
  @IsString()
  instructions?: string | null;

  /** The response that this one continues. */
  @IsOptional()
  @IsString()
  @Length(1, 128)
  previous_response_id?: string | null;

  /** A thread: its id, or an object with its id. */
  @IsOptional()
  @AnyJson()
  conversation?: unknown;

  /** False: the thread of the response is deleted when it is complete. Only for a new thread. */
  @IsOptional()
  @IsBoolean()
  store?: boolean | null;

  /** Answer with the events of the response. */
  @IsOptional()
  @IsBoolean()
  stream?: boolean | null;

  /** Answer before the response is complete. */
  @IsOptional()
  @IsBoolean()
  background?: boolean | null;

  @IsOptional()
  @IsNumber({ allowNaN: false, allowInfinity: false })
  @Min(0)
  @Max(2)
  temperature?: number | null;

  /** The metadata of the thread. */
  @IsOptional()
  @IsMetadata()
  metadata?: Record<string, string> | null;

  /** Must be empty: the agent has its tools. */
  @IsOptional()
  @AnyJson()
  tools?: unknown;

  /** Must be `auto`: the agent has its tools. */
  @IsOptional()
  @AnyJson()
  tool_choice?: unknown;

  /** Its `format` must be that of the agent: text, or its output schema. */
  @IsOptional()
  @AnyJson()
  text?: unknown;
}

/** The members that the service reads. */
const MEMBERS: ReadonlySet<string> = new Set(Object.keys(schemaOf(ResponseRequest)['properties'] as object));

/**
 * Checks the body of a response request. Members that the service does not read are ignored, as OpenAI's clients
 * expect: the response says what counts instead of them.
 */
@Injectable()
export class ResponseRequestPipe implements PipeTransform<unknown, ResponseRequest> {
  /** @throws DomainError `invalid_request` */
  transform(body: unknown): ResponseRequest {
    if (!isRecord(body)) return validateInput(ResponseRequest, body);
    return validateInput(
      ResponseRequest,
      Object.fromEntries(Object.entries(body).filter(([name]) => MEMBERS.has(name))),
    );
  }
}
