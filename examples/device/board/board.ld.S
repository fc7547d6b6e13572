/* Where things lie, for the preprocessor and then the linker. FLASH_KB and RAM_KB are those of the device that is meant;
 * SLOT_BYTES reserves two slots for blocks at the end of the flash. */
#ifndef SLOT_BYTES
#define SLOT_BYTES 0
#endif
#define SECTOR 4096
#define SLOT ((SLOT_BYTES + SECTOR - 1) / SECTOR * SECTOR)

ENTRY(reset)

MEMORY
{
    FLASH (rx) : ORIGIN = 0x00000000, LENGTH = FLASH_KB * 1024 - 2 * SLOT
    SLOTS (rw) : ORIGIN = FLASH_KB * 1024 - 2 * SLOT, LENGTH = 2 * SLOT
    RAM (rwx)  : ORIGIN = 0x20000000, LENGTH = RAM_KB * 1024
}

slot_0 = ORIGIN(SLOTS);
slot_1 = ORIGIN(SLOTS) + SLOT;
slot_end = ORIGIN(SLOTS) + 2 * SLOT;
stack_top = ORIGIN(RAM) + LENGTH(RAM);

SECTIONS
{
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) . = ALIGN(4); } > FLASH
    .given : { *(.given*) . = ALIGN(4); } > FLASH /* inputs of a test or demo, which a product would not have */
    data_load = LOADADDR(.data);
    .data : { data_begin = .; *(.data*) . = ALIGN(4); data_end = .; } > RAM AT > FLASH
    .bss (NOLOAD) : { bss_begin = .; *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; } > RAM
    /DISCARD/ : { *(.ARM.exidx*) *(.comment) }
    ASSERT(stack_top - bss_end >= 2048, "less than 2 KB are left for the stack")
}
