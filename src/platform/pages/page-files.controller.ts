import { Controller, Get, Header, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../core/access.js';
import { DomainError } from '../../core/domain-error.js';
import { FACE_FILES } from './face.js';

/** Serves the stylesheets, pictures and fonts of the pages. */
@ApiExcludeController()
@Controller('pages')
@Access('public')
export class PageFilesController {
  @Get(':file')
  @Header('cache-control', 'public, max-age=31536000, immutable')
  read(@Param('file') name: string, @Res({ passthrough: true }) reply: FastifyReply): string | Buffer {
    const file = FACE_FILES.get(name);
    if (file === undefined) throw new DomainError('unknown_route');
    void reply.type(file.type);
    return file.content;
  }
}
