import { Controller, Get, Header, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Access } from '../../core/access.js';
import { DomainError } from '../../core/domain-error.js';
import { ICON, ICON_FILE } from './icon.js';
import { STYLESHEET, STYLESHEET_FILE } from './stylesheet.js';

const FILES: ReadonlyMap<string, { readonly type: string; readonly text: string }> = new Map([
  [STYLESHEET_FILE, { type: 'text/css; charset=utf-8', text: STYLESHEET }],
  [ICON_FILE, { type: 'image/svg+xml', text: ICON }],
]);

/** Serves the stylesheet and the icon of the pages. */
@ApiExcludeController()
@Controller('pages')
@Access('public')
export class PageFilesController {
  @Get(':file')
  @Header('cache-control', 'public, max-age=31536000, immutable')
  read(@Param('file') name: string, @Res({ passthrough: true }) reply: FastifyReply): string {
    const file = FILES.get(name);
    if (file === undefined) throw new DomainError('unknown_route');
    void reply.type(file.type);
    return file.text;
  }
}
