import { applyDecorators } from '@nestjs/common';
import { registerDecorator } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { isRecord } from '../../core/is-record.js';
import { exceededLimit, type JsonLimits } from '../../core/json-size.js';

/** As JSON text. */
const MAX_BYTES = 65_536;
/** Makes the schema safe to serialize. */
const LIMITS: JsonLimits = { nodes: MAX_BYTES, depth: 100, characters: MAX_BYTES };

const MESSAGE = `must be a JSON Schema whose type is "object", of at most ${MAX_BYTES} bytes of JSON`;

/** The schema of an agent's answers. Whether it can be used is checked elsewhere. */
export function IsOutputSchema(): PropertyDecorator {
  return applyDecorators(
    (target: object, property: string | symbol) =>
      registerDecorator({
        name: 'isOutputSchema',
        target: target.constructor,
        propertyName: property as string,
        options: { message: MESSAGE },
        validator: { validate: isOutputSchema },
      }),
    JSONSchema({
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string', enum: ['object'] } },
      additionalProperties: true,
    }),
  );
}

function isOutputSchema(value: unknown): boolean {
  if (!isRecord(value) || value['type'] !== 'object' || exceededLimit(value, LIMITS) !== undefined) return false;
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_BYTES;
}
