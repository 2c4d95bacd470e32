import { Injectable, type Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  HEADERS_METADATA,
  HTTP_CODE_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
  REDIRECT_METADATA,
  RENDER_METADATA,
  ROUTE_ARGS_METADATA,
  SSE_METADATA,
} from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { ApplicationConfig } from '@nestjs/core';
import { AuthGuard } from '../../identity/auth/auth.guard.js';
import { ProblemDetailsFilter } from '../../core/problem-details.filter.js';

/** Metadata that decorators set on a controller or its method for Nest's pipeline. */
const DECORATIONS: Readonly<Record<string, string>> = {
  [GUARDS_METADATA]: 'a guard',
  [INTERCEPTORS_METADATA]: 'an interceptor',
  [PIPES_METADATA]: 'a pipe',
  [EXCEPTION_FILTERS_METADATA]: 'an exception filter',
  [HTTP_CODE_METADATA]: 'a status',
  [HEADERS_METADATA]: 'headers',
  [REDIRECT_METADATA]: 'a redirection',
  [RENDER_METADATA]: 'a template',
  [SSE_METADATA]: 'server-sent events',
};

/** `@Req() request, @Res() reply`, as `McpEndpoint` requires. */
const REQUEST_AND_REPLY = [`${RouteParamtypes.REQUEST}:0`, `${RouteParamtypes.RESPONSE}:1`];

/** The metadata of one parameter that is checked here. */
interface ParameterMetadata {
  readonly data?: unknown;
  readonly pipes?: readonly unknown[];
}

/** Finds what modules have added to Nest's pipeline, apart from the service's own guard and filter. */
@Injectable()
export class PipelineAdditions {
  constructor(private readonly application: ApplicationConfig) {}

  /** Descriptions of what was added to all routes. Complete when Nest registers its routes. */
  toAllRoutes(): string[] {
    const app = this.application;
    const guards = app.getGlobalGuards().filter((guard) => !(guard instanceof AuthGuard));
    const filters = app.getGlobalFilters().filter((filter) => !(filter instanceof ProblemDetailsFilter));
    const added: [string, readonly unknown[]][] = [
      ['a global guard', [...guards, ...app.getGlobalRequestGuards()]],
      ['a global interceptor', [...app.getGlobalInterceptors(), ...app.getGlobalRequestInterceptors()]],
      ['a global pipe', [...app.getGlobalPipes(), ...app.getGlobalRequestPipes()]],
      ['a global exception filter', [...filters, ...app.getGlobalRequestFilters()]],
    ];
    return added.filter(([, those]) => those.length > 0).map(([kind]) => kind);
  }

  /** Descriptions of what was added to one method of a controller. */
  toMethod(controller: Type, name: string | symbol): string[] {
    const method = (controller.prototype as Record<string | symbol, object>)[name];
    const targets = method === undefined ? [controller] : [controller, method];
    const decorations = Object.entries(DECORATIONS)
      .filter(([key]) => targets.some((target) => Reflect.hasMetadata(key, target)))
      .map(([, kind]) => kind);
    return takesOnlyRequestAndReply(controller, name) ? decorations : [...decorations, 'a parameter decorator'];
  }
}

function takesOnlyRequestAndReply(controller: Type, name: string | symbol): boolean {
  const parameters = Object.entries(
    (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<string, ParameterMetadata>,
  );
  return (
    parameters.length === REQUEST_AND_REPLY.length &&
    parameters.every(
      ([key, { data, pipes = [] }]) => REQUEST_AND_REPLY.includes(key) && data === undefined && pipes.length === 0,
    )
  );
}
