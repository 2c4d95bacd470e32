import { isRecord } from '../../core/is-record.js';
import { exceededLimit, type JsonLimits } from '../../core/json-size.js';
import { rule } from '../../core/validation/rule.js';

/** As JSON text. */
const MAX_BYTES = 65_536;
/** Makes the schema safe to serialize. */
const LIMITS: JsonLimits = { nodes: MAX_BYTES, depth: 100, characters: MAX_BYTES };

/** The schema of an agent's answers. Whether it can be used is checked elsewhere. */
export function IsOutputSchema(): PropertyDecorator {
  return rule(
    'isOutputSchema',
    {
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string', enum: ['object'] } },
      additionalProperties: true,
    },
    isOutputSchema,
    `must be a JSON Schema whose type is "object", of at most ${MAX_BYTES} bytes of JSON`,
  );
}

function isOutputSchema(value: unknown): boolean {
  if (!isRecord(value) || value['type'] !== 'object' || exceededLimit(value, LIMITS) !== undefined) return false;
  return Buffer.byteLength(JSON.stringify(value)) <= MAX_BYTES;
}
