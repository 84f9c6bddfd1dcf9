//===- ExplainHtml.cpp - the page of attentile explain --------------------===//
//
// Part of Attentile, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain HTML and SVG: no script, nothing is fetched. Of the picture, runs of
// equal blocks in a row are one rectangle, so that long sequences stay small.
//
//===----------------------------------------------------------------------===//

#include "ExplainReport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace attentile {
namespace {

constexpr const char *kClasses[] = {"skipped", "full", "masked"};

constexpr char kStyle[] = R"(
:root { color-scheme: light dark; --ink: #1c1c1a; --paper: #fbfaf7; --rule: #d8d5cc; --full: #2f6db3; --masked: #e0872b;
  --skipped: #ece9e1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e0; --paper: #17181a; --rule: #3a3c40; --full: #5b9be0;
  --masked: #eea04d; --skipped: #26282b; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1, h2 { font-weight: 600; } h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .2rem 1.2rem .2rem 0; vertical-align: top;
  border-bottom: 1px solid var(--rule); } th { font-weight: 500; white-space: nowrap; }
pre { overflow-x: auto; padding: .8rem 1rem; border: 1px solid var(--rule); font-size: 13px; }
svg { width: 100%; max-width: 44rem; height: auto; max-height: 44rem; border: 1px solid var(--rule); }
.skipped { fill: var(--skipped); background: var(--skipped); } .full { fill: var(--full); background: var(--full); }
.masked { fill: var(--masked); background: var(--masked); }
.key { display: inline-block; width: .9em; height: .9em; margin: 0 .4em 0 1.2em; vertical-align: -.1em; }
figure { margin: 1rem 0; } figcaption { margin-top: .4rem; }
)";

void escape(llvm::raw_ostream &os, llvm::StringRef text) {
  llvm::printHTMLEscaped(text, os);
}

/// `m 128 .. 255, n 0 .. 1023: 16 blocks, full`.
void printRun(llvm::raw_ostream &os, const BlockMap &map, size_t row,
              size_t first, size_t last) {
  os << map.rowAxis << ' ' << row * map.rowTile << " .. "
     << (row + 1) * map.rowTile - 1 << ", " << map.columnAxis << ' '
     << first * map.columnTile << " .. " << last * map.columnTile - 1 << ": "
     << last - first << (last - first == 1 ? " block, " : " blocks, ")
     << kClasses[map.blocks[row][first]];
}

/// One unit of the picture is one element of the axes, so that its shape is
/// theirs.
void printMap(llvm::raw_ostream &os, const BlockMap &map) {
  size_t rows = map.blocks.size(), columns = map.blocks.front().size();
  os << "<figure>\n<svg viewBox=\"0 0 " << columns * map.columnTile << ' '
     << rows * map.rowTile
     << "\" shape-rendering=\"crispEdges\" role=\"img\" aria-label=\"blocks "
        "that are computed\">\n<rect class=\"skipped\" width=\"100%\" "
        "height=\"100%\"/>\n";
  for (size_t row = 0; row < rows; ++row)
    for (size_t first = 0, last; first < columns; first = last) {
      for (last = first + 1; last < columns; ++last)
        if (map.blocks[row][last] != map.blocks[row][first])
          break;
      if (map.blocks[row][first] == BlockMap::Skipped)
        continue;
      os << "<rect class=\"" << kClasses[map.blocks[row][first]] << "\" x=\""
         << first * map.columnTile << "\" y=\"" << row * map.rowTile
         << "\" width=\"" << (last - first) * map.columnTile << "\" height=\""
         << map.rowTile << "\"><title>";
      printRun(os, map, row, first, last);
      os << "</title></rect>\n";
    }
  os << "</svg>\n<figcaption>Down: " << map.rowAxis << " in tiles of "
     << map.rowTile << ". Across: " << map.columnAxis << " in blocks of "
     << map.columnTile << ". The first head's."
     << "<span class=\"key full\"></span>computed without a mask"
     << "<span class=\"key masked\"></span>evaluates a mask"
     << "<span class=\"key skipped\"></span>skipped</figcaption>\n</figure>\n";
}

} // namespace

void printHtml(llvm::raw_ostream &os, llvm::StringRef kernel,
               llvm::StringRef source, const Explained &explained) {
  os << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
     << "<meta name=\"viewport\" content=\"width=device-width\">\n<title>";
  escape(os, kernel);
  os << "</title>\n<style>" << kStyle << "</style>\n</head>\n<body>\n<h1>";
  escape(os, kernel);
  os << "</h1>\n";
  for (const GridFigures &grid : explained.grids) {
    os << "<h2>Grid ";
    escape(os, grid.name);
    os << "</h2>\n";
    if (!grid.map.blocks.empty())
      printMap(os, grid.map);
    os << "<table>\n";
    for (const auto &[name, text] : describe(grid, explained)) {
      os << "<tr><th>" << name << "</th><td>";
      escape(os, text);
      os << "</td></tr>\n";
    }
    os << "</table>\n";
  }
  if (std::string line = compareUnfused(explained); !line.empty())
    os << "<p>" << line << "</p>\n";
  os << "<h2>Source</h2>\n<pre>";
  escape(os, source);
  os << "</pre>\n</body>\n</html>\n";
}

} // namespace attentile
