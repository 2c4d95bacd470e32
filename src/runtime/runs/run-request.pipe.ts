import type { PipeTransform } from '@nestjs/common';
import { DomainError, type FieldError } from '../../core/domain-error.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { inspectInput, summarize } from '../../core/validation/validate-input.js';
import type { SteerRequest } from './run-request.dto.js';

/** Faults with codes of their own, causes before their consequences. The first matching rule determines the code. */
const CODES: readonly (readonly [fits: (fault: FieldError) => boolean, code: ErrorCode])[] = [
  [({ path }) => path === 'thread_id', 'thread_id_in_body'],
  [({ path }) => /^messages\[\d+\]\.role$/.test(path), 'role_not_allowed'],
  [({ path }) => /^messages\[\d+\]\.parts\[\d+\]\.type$/.test(path), 'part_type_not_supported'],
  [({ code }) => code === 'unknown_property', 'unknown_property'],
  [({ path }) => path === 'tier', 'unknown_tier'],
  [({ path }) => path === 'temperature', 'temperature_out_of_range'],
];

/** Checks the body of a run request, or of a message for a run under way, which has its tier and temperature. */
export class RunRequestPipe<T extends SteerRequest> implements PipeTransform<unknown, T> {
  constructor(private readonly type: new () => T) {}

  /** @throws DomainError with the code of the first matching rule, and every fault with its path */
  transform(body: unknown): T {
    const { value, faults } = inspectInput(this.type, body);
    const own = [...faults.map(withCode).toSorted(byTelling), ...misplacedMembers(value)];
    const all = own.length > 0 ? own : countUserMessages(value);
    const first = all[0];
    if (first === undefined) return value;
    throw new DomainError(first.code, summarize(all), all);
  }
}

interface CodedFault extends FieldError {
  code: ErrorCode;
}

function withCode(fault: FieldError): CodedFault {
  return { ...fault, code: CODES.find(([fits]) => fits(fault))?.[1] ?? 'invalid_request' };
}

function byTelling(a: CodedFault, b: CodedFault): number {
  return rank(a) - rank(b);
}

function rank({ code }: CodedFault): number {
  const index = CODES.findIndex(([, known]) => known === code);
  return index === -1 ? CODES.length : index;
}

/** Members that a part of its type, or a message of its role, does not have. */
function misplacedMembers({ messages }: SteerRequest): CodedFault[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message, m) =>
    (Array.isArray(message?.parts) ? message.parts : []).flatMap((part, p): CodedFault[] => {
      const path = `messages[${m}].parts[${p}]`;
      if (part?.type === 'file' && message.role === 'system') {
        const code = 'part_type_not_supported';
        return [{ path: `${path}.type`, code, message: 'A system message has text parts only.' }];
      }
      const foreign = part?.type === 'file' ? ['text'] : part?.type === 'text' ? ['mediaType', 'url', 'filename'] : [];
      return foreign
        .filter((name) => part[name as keyof typeof part] !== undefined)
        .map((name) => ({
          path: `${path}.${name}`,
          code: 'unknown_property',
          message: `A part of type ${part.type} does not have this property.`,
        }));
    }),
  );
}

function countUserMessages(request: SteerRequest): CodedFault[] {
  const count = request.messages.filter(({ role }) => role === 'user').length;
  if (count === 1) return [];
  const message = `Exactly one message must have the role user; the request has ${count}.`;
  return [{ path: 'messages', code: 'user_message_count', message }];
}
