import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Access } from '../common/access.js';
import { DomainError } from '../common/domain-error.js';
import { STYLESHEET, STYLESHEET_FILE } from './stylesheet.js';

/** Serves the stylesheet of the pages. */
@ApiExcludeController()
@Controller('pages')
@Access('public')
export class StylesheetController {
  @Get(':file')
  @Header('content-type', 'text/css; charset=utf-8')
  @Header('cache-control', 'public, max-age=31536000, immutable')
  read(@Param('file') file: string): string {
    if (file !== STYLESHEET_FILE) throw new DomainError('unknown_route');
    return STYLESHEET;
  }
}
