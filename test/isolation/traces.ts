import { jest } from '@jest/globals';
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { IsInt, getMetadataStorage } from 'class-validator';
import { Client } from 'pg';
import { Entity, PrimaryColumn, getMetadataArgsStorage } from 'typeorm';

const globals = globalThis as { trace?: string };
const transformed = defaultMetadataStorage as unknown as { _typeMetadatas: Map<unknown, unknown> };
const shared = Client as unknown as { suites?: number };

/** What a suite can find of the suites before it in the same worker. All empty, except for the packages themselves. */
export function findTraces() {
  return {
    global: globals.trace,
    environment: process.env['TRACE'],
    time: jest.isMockFunction(Date.now),
    spy: jest.isMockFunction(Client.prototype.connect),
    entities: getMetadataArgsStorage().tables.length,
    validated: getMetadataStorage().hasValidationMetaData,
    transformed: transformed._typeMetadatas.size,
  };
}

/** Leaves all of them. Returns how many suites of this worker have used the same copy of a package. */
export function leaveTraces(): number {
  globals.trace = 'left';
  process.env['TRACE'] = 'left';
  jest.spyOn(Date, 'now');
  jest.spyOn(Client.prototype, 'connect');
  class Traced {
    id: number;
  }
  IsInt()(Traced.prototype, 'id');
  Type(() => Number)(Traced.prototype, 'id');
  PrimaryColumn('int')(Traced.prototype, 'id');
  Entity()(Traced);
  shared.suites = (shared.suites ?? 0) + 1;
  return shared.suites;
}
