# Installs teamkeep on Windows and adds its hooks to the settings of Claude Code. Untried: no PowerShell has run this script.
#
#   .\install.ps1 [-Prefix DIR] [-NoHooks]
#   .\install.ps1 -Uninstall [-Prefix DIR] [-NoHooks]
#
# A release contains the programs beside this script, each with its checksum, as in teamkeep.exe.sha256. Without them, the script
# builds teamkeep with cargo (https://rustup.rs).
[CmdletBinding()]
param(
    # The directory of the programs.
    [string]$Prefix = (Join-Path $env:LOCALAPPDATA 'Programs\teamkeep'),
    # Do not change the settings of Claude Code.
    [switch]$NoHooks,
    # Remove the hooks and the programs. Recorded data is kept.
    [switch]$Uninstall
)
$ErrorActionPreference = 'Stop'
# The hook program first: the settings name it as soon as it is there.
$programs = 'teamkeep-hook.exe', 'teamkeep.exe'
$teamkeep = Join-Path $Prefix 'teamkeep.exe'

function Stop-WithError([string]$Message, [string]$Hint) {
    [Console]::Error.WriteLine("error: $Message")
    if ($Hint) { [Console]::Error.WriteLine("hint: $Hint") }
    exit 1
}

# Compares a program with its checksum, if there is one.
function Test-Checksum([string]$Program) {
    $file = "$Program.sha256"
    if (-not (Test-Path -LiteralPath $file)) { return }
    $expected = ((Get-Content -LiteralPath $file -TotalCount 1) -split '\s+')[0]
    $found = (Get-FileHash -LiteralPath $Program -Algorithm SHA256).Hash
    # The operator ignores the case.
    if ($found -ne $expected) {
        Stop-WithError "checksum mismatch: $Program does not match $file" 'download the release again'
    }
}

# Returns the directory with the programs.
function Get-Programs {
    if (Test-Path -LiteralPath (Join-Path $PSScriptRoot 'teamkeep.exe')) {
        foreach ($name in $programs) {
            $program = Join-Path $PSScriptRoot $name
            if (-not (Test-Path -LiteralPath $program)) {
                Stop-WithError "this release has no $name" 'download the release again'
            }
            Test-Checksum $program
        }
        return $PSScriptRoot
    }
    if (-not (Get-Command cargo -ErrorAction SilentlyContinue)) {
        Stop-WithError 'cannot build: cargo is not in PATH' 'install it from https://rustup.rs'
    }
    $target = Join-Path $PSScriptRoot 'target'
    $manifest = Join-Path $PSScriptRoot 'Cargo.toml'
    Write-Host 'building (a few minutes the first time)'
    & cargo build --release --locked --package teamkeep --bins --manifest-path $manifest --target-dir $target | Out-Host
    if ($LASTEXITCODE -ne 0) { Stop-WithError 'cannot build: see the output of cargo above' }
    return Join-Path $target 'release'
}

function Install-Teamkeep {
    $from = Get-Programs
    New-Item -ItemType Directory -Force -Path $Prefix | Out-Null
    foreach ($name in $programs) {
        $place = Join-Path $Prefix $name
        try { Copy-Item -LiteralPath (Join-Path $from $name) -Destination $place -Force }
        catch { Stop-WithError "cannot write ${place}: $_" 'end the sessions and the commands that use it' }
    }
    Write-Host "installed $(& $teamkeep --version) as $teamkeep"
    if ($NoHooks) {
        Write-Host "settings unchanged; to add the hooks: & '$teamkeep' install"
    } else {
        & $teamkeep install --yes
        if ($LASTEXITCODE -ne 0) {
            Stop-WithError 'installed the programs, but not the hooks' "fix the cause, then: & '$teamkeep' install"
        }
        Write-Host "to turn on agent teams: & '$teamkeep' install --enable-teams"
    }
    if (($env:Path -split ';') -notcontains $Prefix) {
        Write-Host "to find the programs in this console: `$env:Path += ';$Prefix'"
        Write-Host "to keep it, add the directory to your account's variable Path"
    }
}

function Uninstall-Teamkeep {
    if (-not $NoHooks -and (Test-Path -LiteralPath $teamkeep)) {
        & $teamkeep uninstall --yes
        if ($LASTEXITCODE -ne 0) {
            Stop-WithError 'cannot remove the hooks' 'to remove only the programs: -Uninstall -NoHooks'
        }
    }
    foreach ($name in $programs) {
        $place = Join-Path $Prefix $name
        if (Test-Path -LiteralPath $place) {
            Remove-Item -LiteralPath $place -Force
            Write-Host "removed $place"
        }
    }
}

if ($Uninstall) { Uninstall-Teamkeep } else { Install-Teamkeep }
