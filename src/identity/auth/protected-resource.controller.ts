import { Controller, Get, Headers, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Access } from '../../core/access.js';
import {
  endpointPathOf,
  gatewayPathOf,
  METADATA_SUFFIX,
  organizationPathOf,
  ProtectedResource,
  type ResourceMetadata,
} from './protected-resource.js';

/**
 * The metadata documents of the protected resources (RFC 9728): below the resource, where the challenge points, and at
 * the well-known path of §3.1, where clients look that were not challenged. They do not reveal what exists.
 */
@ApiExcludeController()
@Controller()
@Access('public')
export class ProtectedResourceController {
  constructor(private readonly resource: ProtectedResource) {}

  @Get([`api/:org/${METADATA_SUFFIX}`, `${METADATA_SUFFIX}/api/:org`])
  organization(@Param('org') org: string, @Headers('host') host?: string): ResourceMetadata {
    return this.resource.metadata(organizationPathOf(org), 'api', host);
  }

  @Get([`api/:org/mcp/:connectionId/${METADATA_SUFFIX}`, `${METADATA_SUFFIX}/api/:org/mcp/:connectionId`])
  scoped(
    @Param('org') org: string,
    @Param('connectionId') connectionId: string,
    @Headers('host') host?: string,
  ): ResourceMetadata {
    return this.resource.metadata(endpointPathOf(org, connectionId), 'mcp', host);
  }

  @Get([
    `api/:org/mcp/gateway/:virtualMcpId/${METADATA_SUFFIX}`,
    `${METADATA_SUFFIX}/api/:org/mcp/gateway/:virtualMcpId`,
  ])
  gateway(
    @Param('org') org: string,
    @Param('virtualMcpId') virtualMcpId: string,
    @Headers('host') host?: string,
  ): ResourceMetadata {
    return this.resource.metadata(gatewayPathOf(org, virtualMcpId), 'mcp', host);
  }

  @Get([`mcp/:connectionId/${METADATA_SUFFIX}`, `${METADATA_SUFFIX}/mcp/:connectionId`])
  legacy(@Param('connectionId') connectionId: string, @Headers('host') host?: string): ResourceMetadata {
    return this.resource.metadata(endpointPathOf(undefined, connectionId), 'mcp', host);
  }
}
