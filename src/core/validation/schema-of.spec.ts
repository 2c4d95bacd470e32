import { describe, expect, it } from '@jest/globals';
import { IsIn, IsInt, IsObject, IsString, Length, Max, Min } from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { schemaOf } from './schema-of.js';
import { AnyJson, MayBeAbsent, MayBeNull } from './presence.js';
import { Nested, NestedList } from './nested.js';

class Leaf {
  @IsIn(['red', 'green'])
  colour: string;
}

class Shoot {
  @MayBeNull()
  @IsString()
  owner: string | null;
}

class Branch extends Shoot {
  @AnyJson()
  anything: unknown;

  @NestedList(() => Leaf)
  leaves: Leaf[];
}

class Tree {
  @IsString()
  @Length(1, 8)
  @JSONSchema({ description: 'What it is called.' })
  name: string;

  @MayBeAbsent()
  @IsInt()
  @Min(0)
  @Max(99)
  age?: number;

  @MayBeNull()
  @IsString()
  owner: string | null;

  @IsObject()
  notes: Record<string, unknown>;

  @Nested(() => Branch)
  branch: Branch;
}

class Empty {}

describe('schemaOf', () => {
  const schema = schemaOf(Tree) as { properties: Record<string, object>; required: string[] };

  it('has the rules of every property', () => {
    expect(schema.properties).toMatchObject({
      name: { type: 'string', minLength: 1, maxLength: 8, description: 'What it is called.' },
      age: { type: 'integer', minimum: 0, maximum: 99 },
      owner: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    });
  });

  it('requires properties that are not optional', () => {
    expect(schema.required).toEqual(expect.arrayContaining(['branch', 'name', 'notes']));
    expect(schema.required).not.toContain('age');
  });

  it('writes nested classes in place, so that it stands alone', () => {
    expect(JSON.stringify(schema)).not.toContain('$ref');
    expect(schema.properties['branch']).toMatchObject({
      type: 'object',
      properties: {
        owner: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        anything: {},
        leaves: { type: 'array', items: { properties: { colour: { enum: ['red', 'green'] } } } },
      },
      required: expect.arrayContaining(['leaves']),
    });
  });

  it('closes objects that have properties, at every level, and leaves free ones open', () => {
    expect(schema).toMatchObject({ additionalProperties: false });
    expect(schema.properties['branch']).toMatchObject({
      additionalProperties: false,
      properties: { leaves: { items: { additionalProperties: false } } },
    });
    expect(schema.properties['notes']).not.toHaveProperty('additionalProperties', false);
  });

  it('of a class without properties is the empty object', () => {
    expect(schemaOf(Empty)).toEqual({ type: 'object', properties: {}, additionalProperties: false });
  });
});
