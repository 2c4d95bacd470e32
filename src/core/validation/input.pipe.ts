import type { PipeTransform } from '@nestjs/common';
import { type InputClass, validateInput } from './validate-input.js';

/** The query of routes without parameters. */
export class NoQuery {}

/**
 * Validates the body of a route like the input of a management tool: strictly, without coercion, with one entry per
 * fault. A missing body counts as an empty object. Use it as `@Body(new InputPipe(Type)) input: Type`.
 */
export class InputPipe<T extends object> implements PipeTransform<unknown, T> {
  constructor(private readonly type: InputClass<T>) {}

  /** @throws DomainError `invalid_request` */
  transform(body: unknown): T {
    return validateInput(this.type, body ?? {});
  }
}
