// Heading paths of AsciiDoc files as Asciidoctor sees them: one JSON line a file.
// Usage: node asciidoc_headings.mjs FILE… (with @asciidoctor/core beside it)
import { readFileSync } from 'node:fs'
import { load, LoggerManager, NullLogger } from '@asciidoctor/core'

LoggerManager.logger = new NullLogger()
for (const file of process.argv.slice(2)) {
  const document = await load(readFileSync(file, 'utf8'), {
    safe: 'secure',
    attributes: { 'attribute-missing': 'skip' },
  })
  const paths = []
  const header = document.getDocumentTitle?.() ?? document.doctitle
  const above = document.hasHeader?.() || document.header ? [String(header)] : []
  if (above.length) paths.push(above)
  const visit = async (node, path) => {
    const sections = (node.getSections?.() ?? node.sections?.() ?? [])
    for (const section of sections) {
      const own = [...path, await (section.getTitle?.() ?? section.title)]
      paths.push(own)
      await visit(section, own)
    }
  }
  await visit(document, above)
  console.log(JSON.stringify({ file, paths }))
}
