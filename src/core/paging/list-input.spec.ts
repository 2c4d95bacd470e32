import { describe, expect, it } from '@jest/globals';
import { plainToInstance } from 'class-transformer';
import { validate } from 'class-validator';
import { targetConstructorToSchema } from 'class-validator-jsonschema';
import { ListInput } from './list-input.js';

const faults = async (input: object) =>
  (await validate(plainToInstance(ListInput, input), { whitelist: true, forbidNonWhitelisted: true })).map(
    ({ property }) => property,
  );

describe('ListInput', () => {
  it.each([
    {},
    { limit: 1000, offset: 0 },
    { limit: null, cursor: null, offset: null, orderBy: null, where: null },
    { cursor: 'abc', orderBy: [{ field: ['title'], direction: 'asc' }], where: { anything: 'checked later' } },
  ])('accepts %j', async (input) => {
    expect(await faults(input)).toEqual([]);
  });

  it.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: 1001 }, 'limit'],
    [{ limit: '10' }, 'limit'],
    [{ offset: -1 }, 'offset'],
    [{ offset: 1e300 }, 'offset'],
    [{ cursor: 1 }, 'cursor'],
    [{ orderBy: { field: ['title'], direction: 'asc' } }, 'orderBy'],
    [{ orderBy: [{ field: 'title', direction: 'asc' }] }, 'orderBy'],
    [{ orderBy: [{ field: [], direction: 'asc' }] }, 'orderBy'],
    [{ orderBy: [{ field: ['title'], direction: 'up' }] }, 'orderBy'],
    [{ orderBy: [null] }, 'orderBy'],
    [{ where: [] }, 'where'],
    [{ where: 'a = 1' }, 'where'],
    [{ unknown: 1 }, 'unknown'],
  ])('refuses %j', async (input, property) => {
    expect(await faults(input)).toEqual([property]);
  });

  it('yields a JSON Schema', () => {
    expect(targetConstructorToSchema(ListInput)).toMatchObject({
      type: 'object',
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100 },
        cursor: { type: 'string' },
        offset: { type: 'integer', minimum: 0 },
        orderBy: { type: 'array' },
        where: { type: 'object' },
      },
    });
  });
});
