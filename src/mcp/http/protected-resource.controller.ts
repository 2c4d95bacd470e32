import { Controller, Get, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Access } from '../../common/access.js';
import {
  endpointPathOf,
  gatewayPathOf,
  METADATA_SUFFIX,
  ProtectedResource,
  type ResourceMetadata,
} from './protected-resource.js';

/**
 * The metadata documents of the MCP endpoints (RFC 9728): below the endpoint, where the challenge points, and at the well-known
 * path of §3.1, where clients look that were not challenged. They do not reveal which connections exist.
 */
@ApiExcludeController()
@Controller()
@Access('public')
export class ProtectedResourceController {
  constructor(private readonly resource: ProtectedResource) {}

  @Get([`api/:org/mcp/:connectionId/${METADATA_SUFFIX}`, `${METADATA_SUFFIX}/api/:org/mcp/:connectionId`])
  scoped(@Param('org') org: string, @Param('connectionId') connectionId: string): ResourceMetadata {
    return this.resource.metadata(endpointPathOf(org, connectionId));
  }

  @Get([
    `api/:org/mcp/gateway/:virtualMcpId/${METADATA_SUFFIX}`,
    `${METADATA_SUFFIX}/api/:org/mcp/gateway/:virtualMcpId`,
  ])
  gateway(@Param('org') org: string, @Param('virtualMcpId') virtualMcpId: string): ResourceMetadata {
    return this.resource.metadata(gatewayPathOf(org, virtualMcpId));
  }

  @Get([`mcp/:connectionId/${METADATA_SUFFIX}`, `${METADATA_SUFFIX}/mcp/:connectionId`])
  legacy(@Param('connectionId') connectionId: string): ResourceMetadata {
    return this.resource.metadata(endpointPathOf(undefined, connectionId));
  }
}
