import { Injectable, type OnModuleInit, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ROUTE_ACCESS, type RouteAccess } from '../../core/access.js';
import { REQUIRED_PERMISSIONS } from '../../core/require-permission.js';
import { THREAD_ACCESS, type ThreadAccess } from '../../core/thread-access.js';

/** One route of a controller and the access it requires. */
export interface DeclaredRoute {
  /** `GET`, `POST`, … */
  method: string;
  /** In the router's notation: `/api/:org/tools/:name`. */
  path: string;
  access: RouteAccess;
  /** Absent if the route is closed to browser tokens. */
  threadAccess?: ThreadAccess;
}

/** A handler or controller class that carries metadata. */
type Decorated = Parameters<Reflector['get']>[1];

/** Every controller route with its declared access. The start fails if a route declares none. */
@Injectable()
export class RouteAccessTable implements OnModuleInit {
  private routes: readonly DeclaredRoute[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  onModuleInit(): void {
    this.routes = this.discovery.getControllers().flatMap(({ metatype }) => this.routesOf(metatype as Decorated));
  }

  all(): readonly DeclaredRoute[] {
    return this.routes;
  }

  /** The declaration of a route; undefined if no controller declares it. */
  find(methods: readonly string[], path: string): DeclaredRoute | undefined {
    const trimmed = `/${trimSlashes(path)}`;
    return this.routes.find(
      ({ method, path: declared }) => declared === trimmed && (method === 'ALL' || methods.includes(method)),
    );
  }

  private routesOf(controller: Decorated): DeclaredRoute[] {
    const prototype = controller.prototype as Record<string, Decorated>;
    return this.scanner.getAllMethodNames(prototype).flatMap((name) => {
      const handler = prototype[name];
      const paths = handler && this.reflector.get<string | string[] | undefined>(PATH_METADATA, handler);
      if (handler === undefined || paths === undefined) return [];
      return [paths].flat().map((path) => this.routeOf(controller, handler, path));
    });
  }

  private routeOf(controller: Decorated, handler: Decorated, path: string): DeclaredRoute {
    const base = this.reflector.get<string>(PATH_METADATA, controller);
    const places = [handler, controller];
    const access = this.reflector.getAllAndOverride<RouteAccess | undefined>(ROUTE_ACCESS, places);
    if (access === undefined) {
      throw new Error(`The route ${controller.name}.${handler.name} declares no access. Add @Access(…) to it.`);
    }
    const permissions = this.reflector.getAllAndMerge<readonly string[]>(REQUIRED_PERMISSIONS, places);
    if (access === 'public' && permissions.length > 0) {
      const name = `${controller.name}.${handler.name}`;
      throw new Error(`The public route ${name} requires a permission: it has no caller who could hold one.`);
    }
    const method = RequestMethod[this.reflector.get<RequestMethod>(METHOD_METADATA, handler)] ?? 'ALL';
    const threadAccess = this.reflector.get<ThreadAccess | undefined>(THREAD_ACCESS, handler);
    return {
      method,
      path: `/${[base, path].map(trimSlashes).filter(Boolean).join('/')}`,
      access,
      ...(threadAccess !== undefined && { threadAccess }),
    };
  }
}

function trimSlashes(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}
