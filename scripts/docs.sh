#!/usr/bin/env bash
# Build the documentation site into target/site and check it: no broken link, no request to another host.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf target/site
scripts/site_source.py target/site-source
scripts/tool.sh zensical build --clean
scripts/tool.sh python scripts/check_site.py target/site
echo "to read it with its search: python3 -m http.server -d target/site"
