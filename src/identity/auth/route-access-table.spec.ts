import { describe, expect, it } from '@jest/globals';
import { Controller, Delete, Get, Post, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Access } from '../../core/access.js';
import { RequirePermission } from '../../core/require-permission.js';
import { type DeclaredRoute, RouteAccessTable } from './route-access-table.js';

@Controller('/things/')
@Access('organization')
class ThingsController {
  @Get()
  list(): void {}

  @Post(':id/copy')
  @Access('public')
  copy(): void {}

  helper(): void {}
}

@Controller('careless')
class CarelessController {
  @Get()
  @Access('public')
  list(): void {}

  @Delete(':id')
  remove(): void {}
}

@Controller('open')
@RequirePermission('THINGS_READ')
class OpenController {
  @Get()
  @Access('public')
  list(): void {}
}

async function tableOf(controller: Type): Promise<readonly DeclaredRoute[]> {
  const imports = [DiscoveryModule];
  const module = await Test.createTestingModule({
    imports,
    controllers: [controller],
    providers: [RouteAccessTable],
  }).compile();
  await module.init();
  return module.get(RouteAccessTable).all();
}

describe('RouteAccessTable', () => {
  it('lists every route with the access of its method, otherwise of its class', async () => {
    expect(await tableOf(ThingsController)).toEqual([
      { method: 'GET', path: '/things', access: 'organization' },
      { method: 'POST', path: '/things/:id/copy', access: 'public' },
    ]);
  });

  it('fails the start when a route declares no access', async () => {
    await expect(tableOf(CarelessController)).rejects.toThrow(
      'The route CarelessController.remove declares no access. Add @Access(…) to it.',
    );
  });

  it('stops the start at a public route that requires a permission', async () => {
    await expect(tableOf(OpenController)).rejects.toThrow(
      'The public route OpenController.list requires a permission: it has no caller who could hold one.',
    );
  });
});
